// The list of documents: search, filters, pages of a hundred rows, loaded as they are scrolled to.
"use strict";

(() => {
  const { h } = pdfocr;
  const AT_ONCE = 100;
  const MOST = 500;
  const NAMES = ["q", "status", "reason", "language", "method", "doubtful", "order"];
  const list = document.getElementById("list");
  const form = document.getElementById("filters");
  const found = document.getElementById("found");
  const clear = document.getElementById("clear");

  let filters = {};
  let rows = [];
  let total = 0;
  let turn = 0;
  let loading = null;
  let selected = null;

  const facts = (row) => {
    const languages = Object.keys(row.languages || {});
    return [
      pdfocr.count(row.pages, "page"),
      languages.slice(0, 3).join(", ") + (languages.length > 3 ? " …" : ""),
      row.reason ? pdfocr.words(row.reason) : Object.keys(row.page_reasons || {}).slice(0, 2).map(pdfocr.words).join(", "),
    ].filter(Boolean).join(" · ");
  };

  function item(row) {
    const { name, folder } = pdfocr.nameOf(row.url);
    const current = row.document_id === selected;
    return h("li", {},
      h("a", {
        class: `row is-${row.status}`, href: pdfocr.hashOf({ id: row.document_id, page: 1 }), "data-id": row.document_id,
        "aria-current": current ? "true" : null, title: row.url,
      },
      h("span", { class: "dot", role: "img", "aria-label": pdfocr.words(row.status) }, pdfocr.GLYPHS[row.status] || "?"),
      h("span", { class: "lines" },
        h("bdi", { class: "name" }, name),
        folder ? h("span", { class: "folder" }, h("bdi", {}, folder)) : null,
        h("span", { class: "facts" }, facts(row)),
        row.status === "pending" || !row.pages ? null : pdfocr.pagesBar(row))));
  }

  function show() {
    list.replaceChildren(...rows.map(item));
    const filtered = Object.entries(filters).some(([name, value]) => value && name !== "order");
    found.textContent = total || filtered ? pdfocr.count(total, "document") + (filtered ? " found" : "") : "No documents yet";
    clear.hidden = !filtered;
  }

  async function load(offset, limit) {
    const mine = ++turn;
    loading = pdfocr.source.documents(filters, offset, limit);
    try {
      const answer = await loading;
      if (mine !== turn) return;
      total = answer.total;
      if (offset === 0) {
        rows = answer.documents;
        show();
      } else {
        rows = rows.concat(answer.documents);
        list.append(...answer.documents.map(item));
      }
    } catch (problem) {
      if (mine === turn) found.textContent = problem.message;
    } finally {
      if (mine === turn) loading = null;
    }
  }

  async function more() {
    if (loading === null && rows.length < total) await load(rows.length, AT_ONCE);
    else if (loading !== null) await loading.catch(() => {});
  }

  list.addEventListener("scroll", () => {
    if (list.scrollTop + 2 * list.clientHeight > list.scrollHeight) more();
  }, { passive: true });

  function fill(select, values, any) {
    const chosen = filters[select.name] || "";
    const known = Object.entries(values);
    if (chosen && !Object.hasOwn(values, chosen)) known.push([chosen, 0]);
    select.replaceChildren(h("option", { value: "" }, any), ...known.map(([value, number]) =>
      h("option", { value }, `${pdfocr.words(value)} (${pdfocr.number(number)})`)));
    select.value = chosen;
    select.disabled = known.length === 0;
  }

  let typing = 0;
  form.addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => pdfocr.setFilters(read()), event.target.name === "q" ? 120 : 0);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  clear.addEventListener("click", () => pdfocr.setFilters(filters.order ? { order: filters.order } : {}));

  function read() {
    const chosen = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
    return filters.status ? { ...chosen, status: filters.status } : chosen;
  }

  pdfocr.list = {
    NAMES,
    /** Takes over what the address says; loads only when it says something new. */
    async use(wanted) {
      const changed = JSON.stringify(NAMES.map((name) => wanted[name] || "")) !==
        JSON.stringify(NAMES.map((name) => filters[name] || ""));
      filters = wanted;
      for (const name of NAMES) {
        const field = form.elements.namedItem(name);
        if (!field) continue;
        if (field.type === "checkbox") field.checked = Boolean(wanted[name]);
        else if (document.activeElement !== field || field.value.trim() !== (wanted[name] || "")) field.value = wanted[name] || "";
      }
      if (changed || (rows.length === 0 && loading === null)) {
        list.scrollTop = 0;
        await load(0, AT_ONCE);
      }
    },
    /** The same rows again, as they are now. */
    again: () => (loading === null ? load(0, Math.min(MOST, Math.max(AT_ONCE, rows.length))) : loading),
    values(workspace) {
      fill(form.elements.namedItem("reason"), workspace.reasons, "any");
      fill(form.elements.namedItem("language"), workspace.languages, "any");
      fill(form.elements.namedItem("method"), workspace.methods, "any");
      document.getElementById("doubtful-number").textContent = `(${pdfocr.number(workspace.doubtful)})`;
    },
    select(id) {
      selected = id;
      for (const link of list.querySelectorAll("a")) {
        const current = link.dataset.id === id;
        if (current) {
          link.setAttribute("aria-current", "true");
          link.scrollIntoView({ block: "nearest" });
        } else link.removeAttribute("aria-current");
      }
    },
    /** The document before or after one; null at the ends. */
    async step(id, by) {
      const at = rows.findIndex((row) => row.document_id === id);
      const wanted = at < 0 ? 0 : at + by;
      if (wanted >= rows.length) await more();
      return rows[wanted] ? rows[wanted].document_id : null;
    },
  };
})();
