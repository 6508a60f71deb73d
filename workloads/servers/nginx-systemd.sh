# SPDX-License-Identifier: GPL-2.0-or-later
# nginx-systemd.sh start: Debian's nginx.service, over IPv4 alone, with a page of 12 KiB. nginx-systemd.sh:
# requests by h2load (HTTP/1.1), four connections.
if [ "$1" = start ]; then
    sed -i '/listen \[::\]/d' /etc/nginx/sites-available/default && seq 1 2500 >/var/www/html/page &&
        exec systemctl restart nginx
fi
h2load --h1 --requests=400 --clients=4 --threads=1 http://127.0.0.1/page | grep -E '^(requests|status codes):'
