-- SPDX-License-Identifier: GPL-2.0-or-later
create table words (word text);
with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n < 4999)
insert into words
select substr('bakedolitu', 1 + 2 * (n % 5), 2) || substr('lonmernispot', 1 + 3 * (n / 5 % 4), 3) || n from numbers;
create index by_word on words (word);
