// SPDX-License-Identifier: GPL-2.0-or-later
#include "../program.h"

#include <mujs.h>
#include <stdio.h>
#include <string.h>

const char *const program_name = "mujs";
const unsigned program_units = 60;

static const char script[] =
	"function random(seed) { return function (n) {\n"
	"  seed = (seed * 69069 + 1) % 4294967296; return Math.floor(seed / 65536) % n; }; }\n"
	"var tasks = [\n"
	"function (u) {\n"						/* strings */
	"  var r = random(u + 1), words = [];\n"
	"  for (var i = 0; i < 14; ++i) words.push(String.fromCharCode(97 + r(26), 97 + r(5)));\n"
	"  var text = words.join(' '), count = {};\n"
	"  text.split(' ').forEach(function (w) { count[w] = (count[w] || 0) + 1; });\n"
	"  return Object.keys(count).sort().map(function (k) { return k + count[k]; }).join();\n"
	"},\n"
	"function (u) {\n"						/* regular expressions */
	"  var r = random(u + 2), text = '', sum = 0;\n"
	"  for (var i = 0; i < 5; ++i)\n"
	"    text += 'key' + r(40) + ' = \"v' + r(900) + '\"; // note ' + r(9) + '\\n';\n"
	"  text.replace(/(\\w+)\\s*=\\s*\"([^\"]*)\"/g, function (all, k, v) {\n"
	"    sum += k.length * v.length; return v; });\n"
	"  return sum + text.replace(/\\/\\/.*$/gm, '').replace(/[aeiou]|\\d{2,}/g, '_');\n"
	"},\n"
	"function (u) {\n"						/* JSON */
	"  var r = random(u + 3);\n"
	"  function make(d) {\n"
	"    if (d == 0) return r(3) == 0 ? null : r(2) ? r(1000) / 8 : 'text\\n' + r(99);\n"
	"    var made = d % 2 ? [] : {};\n"
	"    for (var i = 0; i < 3; ++i) made[d % 2 ? i : 'p' + r(30)] = make(d - 1);\n"
	"    return made;\n"
	"  }\n"
	"  var text = JSON.stringify(make(2));\n"
	"  return JSON.stringify(JSON.parse(text), null, 2).length + text;\n"
	"},\n"
	"function (u) {\n"						/* prototypes and closures */
	"  function Account(n) { this.name = 'a' + n; this.sum = 0; this.log = []; }\n"
	"  Account.prototype.add = function (v) {\n"
	"    if (v < 3) throw new RangeError('too little for ' + this.name);\n"
	"    this.sum += v; this.log.push(v); return this; };\n"
	"  var r = random(u + 4), failed = 0, all = [];\n"
	"  for (var i = 0; i < 5; ++i) all.push(new Account(i));\n"
	"  for (var j = 0; j < 20; ++j)\n"
	"    try { all[r(5)].add(r(40)).add(4); } catch (e) { if (e instanceof RangeError) ++failed; }\n"
	"  all.sort(function (a, b) { return b.sum - a.sum || (a.name < b.name ? -1 : 1); });\n"
	"  return failed + all.map(function (a) { return a.name + ':' + a.sum + ':' +\n"
	"    a.log.slice(0, 3); }).join(';');\n"
	"},\n"
	"function (u) {\n"						/* numbers and dates */
	"  var out = [], d = new Date(86400000 * (u * 37 + 1000));\n"
	"  for (var i = 1; i < 9; ++i) {\n"
	"    out.push((Math.pow(i, 1.5) / 7).toFixed(3), (i * u).toString(7), parseInt('7' + i, 8));\n"
	"    out.push((i / 3).toPrecision(5), (i << 3 ^ u) >>> 1, Math.atan2(i, u + 1).toFixed(4));\n"
	"  }\n"
	"  return d.toISOString() + out.join();\n"
	"},\n"
	"function (u) {\n"						/* compile and run */
	"  var source = '';\n"
	"  for (var i = 0; i < 3; ++i)\n"
	"    source += 'function f' + i + '(a, b) { var t = { a: a, b: [b, ' + i + '] }, k, s = \"\";' +\n"
	"      'for (k in t) { if (k === \"b\") s += t[k].length; else s += t[k]; }' +\n"
	"      'switch (s.length % 4) { case 1: return s + b; case 2: do { s += k; } while (s.length < 8);' +\n"
	"      'default: return a ? s : b; } }\\n';\n"
	"  return Function('x', source + 'return f1(x, 2) + f0(f2(x, 1), x);')('u' + u);\n"
	"},\n"
	"];\n"
	"function unit(u) { return tasks.map(function (t, i) { return t(u + i); }).join(); }\n";

static js_State *state;

static void say(js_State *of, const char *message)
{
	(void)of;
	fprintf(stderr, "%s\n", message);
}

int program_set_up(void)
{
	state = js_newstate(NULL, NULL, JS_STRICT);
	if (!state)
		return -1;
	js_setreport(state, say);
	return js_dostring(state, script) ? -1 : 0;
}

uint64_t program_unit(unsigned number)
{
	uint64_t sum = number;

	js_gc(state, 0);
	js_getglobal(state, "unit");
	js_pushundefined(state);
	js_pushnumber(state, number);
	if (js_pcall(state, 1)) {
		say(state, js_trystring(state, -1, "failed"));
	} else {
		const char *text = js_tostring(state, -1);

		sum = fold(number, text, strlen(text));
	}
	js_pop(state, 1);
	return sum;
}
