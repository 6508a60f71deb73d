// SPDX-License-Identifier: GPL-2.0-or-later
// The search of an index of coverage. No network access.

const { entries } = JSON.parse(document.getElementById("entries").textContent);
const names = entries.map(([name, , , where]) => `${name} ${where}`.toLowerCase());
const input = document.getElementById("search");
const results = document.getElementById("results");
const count = document.getElementById("count");
const most = 100;

function cell(text, className) {
  const made = document.createElement("td");
  made.className = className;
  made.textContent = text;
  return made;
}

// Every word must occur; what is called as was typed comes first, then the hottest.
function search() {
  const text = input.value.trim().toLowerCase();
  const words = text.split(/\s+/).filter(Boolean);
  results.tBodies[0].replaceChildren();
  results.hidden = !words.length;
  count.textContent = "";
  if (!words.length) return;
  const found = [];
  names.forEach((name, index) => {
    if (words.every((word) => name.includes(word))) found.push(entries[index]);
  });
  const exact = (entry) => (entry[0].toLowerCase() === text ? 0 : 1);
  found.sort((a, b) => exact(a) - exact(b));
  count.textContent = `${found.length.toLocaleString("en")} found` +
    (found.length > most ? `, the first ${most} are shown` : "");
  for (const [name, share, link, where] of found.slice(0, most)) {
    const row = results.tBodies[0].insertRow();
    const anchor = document.createElement("a");
    anchor.href = link;
    anchor.textContent = name;
    const first = cell("", "");
    first.append(anchor);
    row.append(first, cell(share, "number"), cell(where, "soft"));
  }
}

// index.html#q=NAME is a search that was asked for elsewhere; #FOLDER/ opens a folder.
function follow() {
  const asked = decodeURIComponent(location.hash.slice(1));
  if (asked.startsWith("q=")) {
    input.value = asked.slice(2);
    search();
    return;
  }
  const folder = asked ? document.getElementById(asked) : null;
  for (let at = folder; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  folder?.scrollIntoView();
}

input.addEventListener("input", search);
input.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  input.value = "";
  search();
});
addEventListener("hashchange", follow);
follow();
search();
document.documentElement.dataset.ready = "";
