// SPDX-License-Identifier: GPL-2.0-or-later
// Sorting, filtering, interactive charts and print of a kernsmith page. No network access.

const sortKey = (row, index) => row.cells[index].dataset.sort;

// Numbers before text, both ascending; missing figures always last.
function compare(a, b, direction) {
  if (a === "" || b === "") return (a === "") - (b === "");
  const [x, y] = [Number(a), Number(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return direction * (x - y);
  return direction * a.localeCompare(b, "en", { numeric: true });
}

function sortBy(table, index) {
  const header = table.tHead.rows[0].cells[index];
  const ascending = header.getAttribute("aria-sort") !== "ascending";
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  rows.sort((a, b) => compare(sortKey(a, index), sortKey(b, index), ascending ? 1 : -1));
  body.append(...rows);
}

// Every word must occur in the row.
function filterRows(table, text, count) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const content = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => content.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  count.textContent = words.length ? `${shown} of ${table.tBodies[0].rows.length} rows` : "";
}

for (const block of document.querySelectorAll(".table-block")) {
  const table = block.querySelector("table");
  [...table.tHead.rows[0].cells].forEach((cell, index) => {
    cell.querySelector("button").addEventListener("click", () => sortBy(table, index));
  });
  const input = block.querySelector("input");
  const count = block.querySelector(".count");
  input?.addEventListener("input", () => filterRows(table, input.value, count));
  input?.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    input.value = "";
    filterRows(table, "", count);
  });
}

// A chart that is wider than the page is drawn anew, as wide as the page; facets cannot be.
function fitted(spec, room) {
  if (spec.facet || room >= 700) return spec;
  const labels = Math.round(room / 3);
  const config = { ...spec.config, axisY: { ...spec.config.axisY, labelLimit: labels } };
  return { ...spec, config, width: room - labels - 40 };
}

async function drawCharts() {
  for (const script of document.querySelectorAll("script.spec")) {
    const target = script.parentElement.querySelector(".chart");
    const still = target.innerHTML;
    try {
      await window.vegaEmbed(target, fitted(JSON.parse(script.textContent), target.clientWidth), {
        renderer: "svg",
        actions: false,
        tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" },
      });
    } catch (error) {
      target.innerHTML = still;
      console.error(error);
    }
  }
  document.documentElement.dataset.charts = "interactive";
}

if (window.vegaEmbed) await drawCharts();

// A flame graph: places are in per cent of its width; a click makes a function as wide as the graph.
function showFrom(graph, left, width) {
  const room = graph.getBoundingClientRect().width;
  for (const cell of graph.querySelectorAll("svg")) {
    const [from, own] = [Number(cell.dataset.x), Number(cell.dataset.width)];
    const [first, last] = [Math.max(from, left), Math.min(from + own, left + width)];
    const share = ((last - first) / width) * 100;
    cell.classList.toggle("outside", share <= 0);
    cell.classList.toggle("narrow", (share / 100) * room < 24);
    cell.setAttribute("x", `${((first - left) / width) * 100}%`);
    cell.setAttribute("width", `${Math.max(share, 0)}%`);
  }
}

for (const graph of document.querySelectorAll("svg.flame")) {
  let shown = [0, 100];
  new ResizeObserver(() => showFrom(graph, ...shown)).observe(graph);
  graph.addEventListener("click", (event) => {
    const cell = event.target.closest("svg.flame svg");
    shown = cell ? [Number(cell.dataset.x), Number(cell.dataset.width)] : [0, 100];
    showFrom(graph, ...shown);
  });
}

document.getElementById("download")?.addEventListener("click", () => {
  const text = document.getElementById("figures").textContent;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "figures.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

addEventListener("beforeprint", () => {
  for (const element of document.querySelectorAll("details:not([open])")) {
    element.open = true;
    element.dataset.wasClosed = "";
  }
});
addEventListener("afterprint", () => {
  for (const element of document.querySelectorAll("details[data-was-closed]")) {
    element.open = false;
    delete element.dataset.wasClosed;
  }
});
document.documentElement.dataset.ready = "";
