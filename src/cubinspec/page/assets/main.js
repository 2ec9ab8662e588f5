// The frame: which view is shown, moving between views, light and dark.

/** Address -> title, what makes the view, whether the data has it. */
const VIEWS = {
  summary: ["Summary", summaryView, (data) => data.functions],
  changes: ["Changes", changesView, (data) => data.difference],
  kernels: ["Kernels", kernelsView, (data) => data.functions],
  sizes: ["Sizes", sizesView, (data) => data.functions],
  calls: ["Calls", callsView, (data) => data.functions],
  duplicates: ["Duplicates", duplicatesView, (data) => data.functions],
  coverage: ["Coverage", coverageView, (data) => data.functions],
  images: ["Images", imagesView, (data) => data.functions],
  function: ["Function", functionView, (data) => data.functions],
};
const HIDDEN = new Set(["function"]);

const main = document.getElementById("main");
let data = null;
let address = "";
/** What each view remembers while others are shown. */
const states = {};

/** Show another view. In a frame of a notebook the address cannot always be changed. */
function go(hash) {
  try {
    if (location.hash !== hash) {
      location.hash = hash;
      return;
    }
  } catch {
    // the view is shown all the same
  }
  show(hash);
}

function show(hash) {
  if (!data || hash === address) return;
  const isFirst = address === "";
  address = hash;
  const [word, ...rest] = hash.replace(/^#/, "").split("/").map(decoded);
  const first = Object.keys(VIEWS).find((name) => VIEWS[name][2](data));
  const name = word in VIEWS && VIEWS[word][2](data) ? word : first;
  const [title, make] = VIEWS[name];
  states[name] ??= {};
  const heading = name === "function" && data.functions.name[rest[0]] !== undefined
    ? el("h2", { tabindex: -1, class: "function" }, data.name(Number(rest[0])))
    : el("h2", { tabindex: -1 }, title);
  for (const item of document.querySelectorAll("#nav a")) {
    if (item.dataset.view === (name === "function" ? "kernels" : name)) item.setAttribute("aria-current", "page");
    else item.removeAttribute("aria-current");
  }
  main.replaceChildren(heading, ...make(data, rest, states[name]).filter((part) => part !== null));
  if (!isFirst) {
    heading.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// -- light and dark -----------------------------------------------------------------------------

const THEMES = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };

function stored(value) {
  try {
    if (value === undefined) return localStorage.getItem("cubinspec-theme") ?? "";
    localStorage.setItem("cubinspec-theme", value);
  } catch {
    // a frame without storage
  }
  return value ?? "";
}

function setTheme(theme) {
  const known = theme in THEMES ? theme : "";
  if (known) document.documentElement.dataset.theme = known;
  else delete document.documentElement.dataset.theme;
  const button = document.getElementById("theme");
  button.textContent = THEMES[known];
  button.setAttribute("aria-label", `${THEMES[known]}; change`);
}

document.getElementById("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  const now = document.documentElement.dataset.theme ?? "";
  setTheme(stored(names[(names.indexOf(now) + 1) % names.length]));
});

// -- keys and links -----------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const to = event.target.closest?.("a[href^='#']");
  if (!to || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (to.classList.contains("skip")) main.focus();
  else go(to.getAttribute("href"));
});

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, select, textarea");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    const search = main.querySelector("input[type=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  }
});

window.addEventListener("hashchange", () => show(location.hash || "#"));

async function start() {
  setTheme(stored());
  try {
    data = new Data(await load());
  } catch (error) {
    main.replaceChildren(el("h2", {}, "The data of this page cannot be read"), el("p", {}, String(error)));
    return;
  }
  document.getElementById("nav").append(...Object.entries(VIEWS)
    .filter(([name, [, , has]]) => !HIDDEN.has(name) && has(data))
    .map(([name, [title]]) => el("a", { href: `#${name}`, "data-view": name }, title)));
  show(location.hash || "#");
}

start();
