// SPDX-License-Identifier: GPL-2.0-or-later
#include "../program.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

const char *const program_name = "lua";
const unsigned program_units = 90;

/* Each task is a function of the unit's number that returns a string. */
static const char script[] =
	"local tasks = {}\n"
	"local function random(seed)\n"
	"  return function(n) seed = (seed * 1103515245 + 12345) % 2147483648\n"
	"    return seed // 65536 % n + 1 end\n"
	"end\n"
	"tasks[1] = function(u)\n"					/* words and counts */
	"  local r, words, count = random(u), {}, {}\n"
	"  for i = 1, 22 do words[i] = string.char(96 + r(26), 96 + r(4), 96 + r(3)) end\n"
	"  for w in table.concat(words, ' '):gmatch('%a+') do count[w] = (count[w] or 0) + 1 end\n"
	"  local keys = {}\n"
	"  for w in pairs(count) do keys[#keys + 1] = w end\n"
	"  table.sort(keys, function(a, b) return count[a] == count[b] and a < b\n"
	"    or count[a] > count[b] end)\n"
	"  return table.concat(keys, ',', 1, 20)\n"
	"end\n"
	"tasks[2] = function(u)\n"					/* objects and closures */
	"  local Shape = {} Shape.__index = Shape\n"
	"  Shape.__lt = function(a, b) return a:area() < b:area() end\n"
	"  function Shape.new(w, h) return setmetatable({w = w, h = h}, Shape) end\n"
	"  function Shape:area() return self.w * self.h end\n"
	"  local r, list = random(u + 7), {}\n"
	"  for i = 1, 12 do list[i] = Shape.new(r(100), r(50)) end\n"
	"  table.sort(list)\n"
	"  local sum = 0\n"
	"  for i, s in ipairs(list) do sum = sum + i * s:area() % 97 end\n"
	"  return tostring(sum)\n"
	"end\n"
	"tasks[3] = function(u)\n"					/* coroutines */
	"  local function walk(tree)\n"
	"    if tree then walk(tree[1]) coroutine.yield(tree[2]) walk(tree[3]) end\n"
	"  end\n"
	"  local function insert(tree, v)\n"
	"    if not tree then return {nil, v, nil} end\n"
	"    local side = v < tree[2] and 1 or 3\n"
	"    tree[side] = insert(tree[side], v)\n"
	"    return tree\n"
	"  end\n"
	"  local r, tree = random(u + 3), nil\n"
	"  for i = 1, 12 do tree = insert(tree, r(1000)) end\n"
	"  local out = {}\n"
	"  for v in coroutine.wrap(function() walk(tree) end) do out[#out + 1] = v end\n"
	"  return table.concat(out, ' ')\n"
	"end\n"
	"tasks[4] = function(u)\n"					/* text formats */
	"  local r, out = random(u + 11), {}\n"
	"  for i = 1, 7 do\n"
	"    out[i] = string.format('%05d %-8s %6.2f %x', r(9999), ('ab'):rep(r(4)), r(999) / 7,\n"
	"      r(65535))\n"
	"  end\n"
	"  local text = table.concat(out, '\\n')\n"
	"  local n = 0\n"
	"  for a, b, c in text:gmatch('(%d+)%s+(%a+)%s+(%d+%.%d+)') do\n"
	"    n = n + tonumber(a) + #b + math.floor(tonumber(c)) end\n"
	"  return (text:gsub('%d', function(d) return d == '7' and '<seven>' or nil end)) .. n\n"
	"end\n"
	"tasks[5] = function(u)\n"					/* numbers */
	"  local n = 3\n"
	"  local sieve, out = {}, {}\n"
	"  for i = 2, 90 do if not sieve[i] then out[#out + 1] = i\n"
	"    for j = i * i, 90, i do sieve[j] = true end end end\n"
	"  local s = 0.0\n"
	"  for i = 1, n * 6 do s = s + math.sin(i + u) * math.sqrt(i) // 1 + (i ~ u) % 5 end\n"
	"  return string.format('%d %.6f', #out, s)\n"
	"end\n"
	"tasks[6] = function(u)\n"					/* compile and run */
	"  local parts = {}\n"
	"  for i = 1, 4 do\n"
	"    parts[i] = ('local function f%d(a, b) local t = {a = a, b, [%d] = a .. b}\\n'\n"
	"      .. 'for k, v in pairs(t) do if v ~= b then a = a .. tostring(k) end end\\n'\n"
	"      .. 'return #a > 5 and a or f%d and \"x\" or b end\\n'):format(i, i + u, i - 1)\n"
	"  end\n"
	"  parts[#parts + 1] = 'return f4(\"left\", \"right\") .. f3(\"a\", \"b\")'\n"
	"  return load('local f0\\n' .. table.concat(parts))()\n"
	"end\n"
	"tasks[7] = function(u)\n"					/* a serializer */
	"  local function write(v, out)\n"
	"    if type(v) == 'table' then\n"
	"      out[#out + 1] = '{'\n"
	"      local keys = {}\n"
	"      for k in pairs(v) do keys[#keys + 1] = k end\n"
	"      table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)\n"
	"      for _, k in ipairs(keys) do out[#out + 1] = tostring(k) .. '=' write(v[k], out) end\n"
	"      out[#out + 1] = '}'\n"
	"    else out[#out + 1] = string.format('%q', v) end\n"
	"  end\n"
	"  local r = random(u + 5)\n"
	"  local function make(depth)\n"
	"    if depth == 0 then return r(2) == 1 and r(100) or ('k' .. r(100)) end\n"
	"    local t = {}\n"
	"    for i = 1, 3 do t['f' .. r(20)] = make(depth - 1) end\n"
	"    return t\n"
	"  end\n"
	"  local out = {}\n"
	"  write(make(2), out)\n"
	"  return table.concat(out)\n"
	"end\n"
	"tasks[8] = function(u)\n"					/* bytes and errors */
	"  local packed = {}\n"
	"  for i = 1, 6 do packed[i] = string.pack('<i4z', i * u, 's' .. i) end\n"
	"  local all, at, sum = table.concat(packed), 1, 0\n"
	"  while at <= #all do local n, s n, s, at = string.unpack('<i4z', all, at)\n"
	"    sum = sum + n + #s end\n"
	"  for i = 1, 5 do\n"
	"    local ok, why = pcall(function() if i % 3 == 0 then error({i}) end\n"
	"      return utf8.char(900 + i):upper():byte(1, -1) end)\n"
	"    sum = sum + (ok and why or why[1])\n"
	"  end\n"
	"  return tostring(sum)\n"
	"end\n"
	"function unit(u)\n"
	"  local all = {}\n"
	"  for i, task in ipairs(tasks) do all[i] = task(u + i) end\n"
	"  return table.concat(all)\n"
	"end\n";

static lua_State *state;

int program_set_up(void)
{
	state = luaL_newstate();
	if (!state)
		return -1;
	luaL_openlibs(state);
	if (luaL_dostring(state, script)) {
		fprintf(stderr, "%s\n", lua_tostring(state, -1));
		return -1;
	}
	return 0;
}

uint64_t program_unit(unsigned number)
{
	size_t length = 0;

	lua_gc(state, LUA_GCCOLLECT);
	lua_getglobal(state, "unit");
	lua_pushinteger(state, number);
	if (lua_pcall(state, 1, 1, 0)) {
		fprintf(stderr, "%s\n", lua_tostring(state, -1));
		lua_pop(state, 1);
		return number;
	}
	const char *text = lua_tolstring(state, -1, &length);
	uint64_t sum = fold(number, text, length);

	lua_pop(state, 1);
	return sum;
}
