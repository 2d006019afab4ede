// The address says what is shown: `#/<document>/<page>?<filters>`. Everything else follows from it.
"use strict";

(() => {
  const { h } = pdfocr;
  const main = document.getElementById("main");
  const problem = document.getElementById("problem");
  const keys = document.getElementById("keys");
  const SLOW_MS = 3000;
  const QUICK_MS = 1000;

  let workspace = null;
  let state = { id: null, page: 1, filters: {} };
  let open = null;
  let target = "";  // the document and page that are shown or on their way

  function parse(hash) {
    const [path, query] = hash.replace(/^#/, "").split("?", 2);
    const [, id, page] = path.split("/");
    const asked = new URLSearchParams(query || "");
    const filters = Object.fromEntries(pdfocr.list.NAMES.filter((name) => asked.get(name)).map((name) => [name, asked.get(name)]));
    return { id: /^[0-9a-f]{64}$/.test(id || "") ? id : null, page: Number.parseInt(page, 10) || 1, filters };
  }

  /** The address of a document's page, or of a list; filters stay as they are unless they are given. */
  pdfocr.hashOf = ({ id = null, page = 1, filters = state.filters }) => {
    const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value)).toString();
    return `#/${id ? `${id}/${page}` : ""}${query ? `?${query}` : ""}`;
  };
  pdfocr.go = (to) => { location.hash = pdfocr.hashOf(to); };
  pdfocr.setFilters = (filters) => {
    history.replaceState(null, "", pdfocr.hashOf({ ...state, filters }));
    follow();
  };

  function complain(words) {
    problem.textContent = words || "";
    problem.hidden = !words;
  }

  function chips() {
    const holder = document.getElementById("statuses");
    const present = pdfocr.STATUSES.filter((status) => workspace.statuses[status]);
    holder.replaceChildren(...present.map((status) => h("button", {
      type: "button", class: `chip is-${status}`, "aria-pressed": String(state.filters.status === status),
      onclick: () => {
        const { status: chosen, ...others } = state.filters;
        pdfocr.setFilters(chosen === status ? others : { ...others, status });
      },
    }, h("span", { "aria-hidden": "true" }, pdfocr.GLYPHS[status]), ` ${pdfocr.words(status)} `,
    h("b", {}, pdfocr.number(workspace.statuses[status])))));
  }

  function showOverview() {
    pdfocr.page.leave();
    open = null;
    main.replaceChildren(pdfocr.overview(workspace));
    document.title = "pdfocr";
  }

  async function follow() {
    state = parse(location.hash);
    if (workspace) chips();
    const listed = pdfocr.list.use(state.filters);
    pdfocr.list.select(state.id);
    if (!state.id) {
      target = "";
      if (workspace) showOverview();
    } else if (target !== `${state.id}/${state.page}`) await showPage(state.id, state.page);
    await listed;
    pdfocr.list.select(state.id);
  }

  async function showPage(id, page) {
    const mine = `${id}/${page}`;
    target = mine;
    try {
      open = (await pdfocr.page.show(id, page, () => target === mine)) || open;
    } catch (error) {
      if (target !== mine) return;
      target = "";
      open = null;
      pdfocr.page.leave();
      main.replaceChildren(h("p", { class: "placeholder" }, error.message));
    }
  }

  /** Whether a document that could not be shown, or was still being read, may look different now. */
  async function isOutdated() {
    if (target === "") return true;
    if (!open || !open.waiting || open.id !== state.id) return false;
    const now = await pdfocr.source.document(open.id).catch(() => null);
    return now !== null && (now.status.status !== "pending" || now.pages.length !== open.pages.length);
  }

  async function look() {
    const before = JSON.stringify(workspace);
    try {
      workspace = await pdfocr.source.workspace();
      complain(workspace.problem);
    } catch (error) {
      complain(pdfocr.live ? `The server does not answer: ${error.message}` : error.message);
    }
    if (workspace && JSON.stringify(workspace) !== before) {
      document.getElementById("place").textContent = workspace.compare
        ? `${workspace.workspace} ⇄ ${workspace.compare}` : workspace.workspace;
      pdfocr.list.values(workspace);
      chips();
      if (!state.id) showOverview();
      else if (await isOutdated()) await showPage(state.id, state.page);
      if (before !== "null") await pdfocr.list.again();
    }
    if (pdfocr.live) setTimeout(look, workspace && workspace.complete ? SLOW_MS : QUICK_MS);
  }

  // From the address, which is ahead of the page while keys are pressed quickly.
  async function otherDocument(by) {
    const id = await pdfocr.list.step(parse(location.hash).id, by);
    if (id) pdfocr.go({ id });
  }

  function otherPage(by) {
    const now = parse(location.hash);
    if (!open || open.id !== now.id) return;
    const at = open.pages.findIndex((page) => page.page === now.page);
    const other = open.pages[(at < 0 ? open.pages.findIndex((page) => page.page === open.page) : at) + by];
    if (other) pdfocr.go({ id: open.id, page: other.page });
  }

  const SHORTCUTS = {
    ArrowLeft: () => otherPage(-1),
    ArrowRight: () => otherPage(1),
    ArrowUp: () => otherDocument(-1),
    ArrowDown: () => otherDocument(1),
    "/": () => document.getElementById("q").focus(),
    r: () => pdfocr.page.toggleRaw(),
    b: () => pdfocr.page.toggleBoxes(),
    c: () => pdfocr.page.toggleCompare(),
    o: () => pdfocr.go({}),
    t: () => pdfocr.theme.toggle(),
    "?": () => keys.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const shortcut = Object.hasOwn(SHORTCUTS, event.key) ? SHORTCUTS[event.key] : null;
    if (!shortcut) return;
    event.preventDefault();
    shortcut();
  });

  document.getElementById("theme").addEventListener("click", pdfocr.theme.toggle);
  document.getElementById("help").addEventListener("click", () => keys.showModal());
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  window.addEventListener("hashchange", follow);
  follow();
  look();
})();
