// Where the data comes from: a server, or files beside this page that need none.
"use strict";

(() => {
  const json = async (path) => {
    const answer = await fetch(path);
    const data = await answer.json().catch(() => ({ detail: `The server answered ${answer.status}.` }));
    if (!answer.ok) throw Object.assign(new Error(data.detail || `The server answered ${answer.status}.`), data);
    return data;
  };

  const server = {
    workspace: () => json("api/workspace"),
    documents: (filters, offset, limit) =>
      json(`api/documents?${new URLSearchParams({ ...filters, offset, limit })}`),
    document: (id) => json(`api/documents/${id}`),
    page: (id, number) => json(`api/documents/${id}/pages/${number}`),
    problemOf: (path) => json(path).then(() => ({}), (problem) => problem),
  };

  // Browsers let a page from disk run scripts beside it but not fetch them: each file hands its data over by a call.
  const delivered = new Map();
  pdfocr.deliver = (name, data) => delivered.set(name, data);

  const file = (name) =>
    new Promise((resolve, reject) => {
      if (delivered.has(name)) {
        resolve(delivered.get(name));
        return;
      }
      const script = document.createElement("script");
      script.src = `data/${name}.js`;
      script.addEventListener("load", () => {
        script.remove();
        const data = delivered.get(name);
        if (name !== "documents") delivered.delete(name);
        if (data === undefined) reject(new Error(`data/${name}.js is not whole.`));
        else resolve(data);
      });
      script.addEventListener("error", () => {
        script.remove();
        reject(new Error("This is not part of the export."));
      });
      document.head.append(script);
    });

  const ORDERS = {
    worst: (a, b) => (b.status === "failed") - (a.status === "failed") || b.doubt - a.doubt,
    longest: (a, b) => b.pages - a.pages,
    name: (a, b) => (a.url < b.url ? -1 : a.url > b.url ? 1 : 0),
  };

  const fits = (row, filters) => {
    const name = row.url.toLowerCase();
    const words = (filters.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    return (
      words.every((word) => name.includes(word) || (word.length >= 6 && row.document_id.startsWith(word))) &&
      (!filters.status || row.status === filters.status) &&
      (!filters.reason || row.reason === filters.reason || Object.hasOwn(row.page_reasons || {}, filters.reason)) &&
      (!filters.language || Object.hasOwn(row.languages || {}, filters.language)) &&
      (!filters.method || Object.hasOwn(row.methods || {}, filters.method)) &&
      (!filters.doubtful || row.doubt > 0)
    );
  };

  const exported = {
    workspace: async () => (await file("documents")).workspace,
    documents: async (filters, offset, limit) => {
      const found = (await file("documents")).documents.filter((row) => fits(row, filters));
      if (ORDERS[filters.order]) found.sort(ORDERS[filters.order]);
      return { total: found.length, documents: found.slice(offset, offset + limit) };
    },
    document: (id) => file(`${id}/document`),
    page: (id, number) => file(`${id}/${number}`),
    problemOf: async () => ({ detail: "The picture is not part of the export." }),
  };

  const mode = document.querySelector('meta[name="pdfocr-mode"]').content;
  pdfocr.live = mode === "server";
  pdfocr.source = pdfocr.live ? server : exported;
})();
