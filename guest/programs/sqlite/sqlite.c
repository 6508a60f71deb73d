// SPDX-License-Identifier: GPL-2.0-or-later
#include "../program.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

const char *const program_name = "sqlite";
const unsigned program_units = 144;

static const char schema[] =
	"PRAGMA journal_mode=MEMORY; PRAGMA temp_store=MEMORY; PRAGMA cache_size=4000;"
	"CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, city INT, born INT, note TEXT);"
	"CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT UNIQUE, people INT DEFAULT 0);"
	"CREATE TABLE sale(id INTEGER PRIMARY KEY, person INT, item TEXT, price REAL, day INT);"
	"CREATE INDEX by_city ON person(city, born); CREATE INDEX by_day ON sale(day);"
	"CREATE INDEX by_person ON sale(person, price);"
	"CREATE TRIGGER moved AFTER INSERT ON person BEGIN"
	"  UPDATE city SET people = people + 1 WHERE id = new.city; END;"
	"WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<12)"
	"  INSERT INTO city(id, name) SELECT i, 'city '||char(65+i%26)||i FROM n;"
	"WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<60)"
	"  INSERT INTO person SELECT i, printf('%c%c%d', 97+i%26, 97+i*7%26, i), i*31%12+1,"
	"  1940+i*17%70, substr('the quick brown fox jumps over the lazy dog', 1+i%20, 5+i%15) FROM n;"
	"WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<150)"
	"  INSERT INTO sale SELECT i, i*37%60+1, 'item '||(i*13%50), (i*71%997)/10.0, i*29%365 FROM n;"
	;

/* Those that write are taken back by the unit. */
static const char *const statements[] = {
	"SELECT c.name, count(*), avg(p.born) FROM person p JOIN city c ON c.id=p.city"
	" WHERE p.born > 1950+?1%20 GROUP BY c.id HAVING count(*)>1 ORDER BY 2 DESC, 1 LIMIT 10",
	"SELECT name, note FROM person WHERE note LIKE '%o_e%' AND id%7=?1%7 ORDER BY name COLLATE NOCASE",
	"INSERT INTO person SELECT 1000+id, name||'x', city, born, upper(note) FROM person"
	" WHERE id BETWEEN ?1%50 AND ?1%50+5",
	"UPDATE sale SET price=round(price*1.07,2) WHERE day BETWEEN ?1%300 AND ?1%300+9",
	"SELECT p.name, sum(s.price) AS total, group_concat(DISTINCT s.item) FROM sale s"
	" JOIN person p ON p.id=s.person WHERE s.day<?1%60+15 GROUP BY p.id ORDER BY total DESC LIMIT 12",
	"WITH RECURSIVE t(a,b,i) AS (VALUES(0,1,0) UNION ALL SELECT b,(a+b)%9973,i+1 FROM t WHERE i<?1%9+12)"
	" SELECT max(a), sum(b), group_concat(printf('%04x',a),'-') FROM t",
	"SELECT json_extract(j,'$.b[1].c'), json_array_length(j,'$.b'), json_patch(j,'{\"d\":null}') FROM"
	" (SELECT json_object('a',id,'b',json_array(name,json_object('c',born),note),'d',city) AS j"
	"  FROM person WHERE id<?1%4+4)",
	"DELETE FROM sale WHERE id%41=?1%41",
	"SELECT day/30 AS m, item, rank() OVER (PARTITION BY day/30 ORDER BY price DESC) r,"
	" sum(price) OVER (ORDER BY day ROWS 3 PRECEDING) FROM sale WHERE id<?1%9+12 ORDER BY m, r, item",
	"SELECT count(*) FROM person a WHERE EXISTS (SELECT 1 FROM sale WHERE person=a.id AND price>80+?1%10)"
	" AND a.city IN (SELECT id FROM city WHERE name GLOB '*[1-5]') AND NOT a.id%5=3",
	"SELECT strftime('%Y-%m', 2440587.5+?1+day), hex(substr(item,2)), instr(item,'4'), replace(item,'i','y'),"
	" CASE WHEN price>50 THEN 'high' WHEN price>20 THEN 'mid' ELSE 'low' END, typeof(price), quote(item)"
	" FROM sale WHERE id BETWEEN ?1%90 AND ?1%90+6",
	"SELECT name FROM city WHERE people>4 UNION SELECT item FROM sale WHERE day=?1%365"
	" EXCEPT SELECT 'item '||id FROM city INTERSECT SELECT item FROM sale ORDER BY 1",
};

static sqlite3 *database;

static int done(int code)
{
	if (code == SQLITE_OK)
		return 0;
	fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(database));
	return -1;
}

int program_set_up(void)
{
	if (done(sqlite3_open(":memory:", &database)))
		return -1;
	return done(sqlite3_exec(database, schema, NULL, NULL, NULL));
}

static uint64_t fold_row(uint64_t sum, sqlite3_stmt *statement)
{
	for (int i = 0; i < sqlite3_column_count(statement); i++) {
		const unsigned char *text = sqlite3_column_text(statement, i);

		sum = fold(sum, text, (size_t)sqlite3_column_bytes(statement, i));
	}
	return sum;
}

static uint64_t run(uint64_t sum, unsigned number)
{
	const char *text = statements[number % (sizeof(statements) / sizeof(*statements))];
	sqlite3_stmt *statement;

	if (done(sqlite3_exec(database, "BEGIN", NULL, NULL, NULL)) ||
	    done(sqlite3_prepare_v2(database, text, -1, &statement, NULL)))
		return 0;
	sqlite3_bind_int(statement, 1, (int)number * 53);
	while (sqlite3_step(statement) == SQLITE_ROW)
		sum = fold_row(sum, statement);
	if (!sqlite3_stmt_readonly(statement))
		sum += (uint64_t)sqlite3_changes(database);
	if (done(sqlite3_finalize(statement)) ||
	    done(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL)))
		return 0;
	return sum;
}

uint64_t program_unit(unsigned number)
{
	uint64_t sum = number;

	for (unsigned i = 0; i < 5; i++)
		sum = run(sum, 5 * number + i);
	return sum;
}
