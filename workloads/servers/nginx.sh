# SPDX-License-Identifier: GPL-2.0-or-later
# nginx.sh start: nginx with a page of 12 KiB. nginx.sh: requests by h2load (HTTP/1.1), four connections.
if [ "$1" = start ]; then
    mkdir -p /tmp/www /var/log/nginx && seq 1 2500 >/tmp/www/page && exec nginx -c /workload/nginx.conf
fi
h2load --h1 --requests=400 --clients=4 --threads=1 http://127.0.0.1:8080/page | grep -E '^(requests|status codes):'
