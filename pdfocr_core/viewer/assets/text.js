// Markdown of unknown origin to a safe piece of the page. The order matters: Markdown to HTML, HTML through DOMPurify, and
// only then mathematics, drawn by KaTeX from plain text into elements of its own (its `trust` stays off).
"use strict";

(() => {
  const LONGEST = 400000;
  const TAGS = [
    "a", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "del", "details", "div", "dl", "dt", "em",
    "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "mark", "ol", "p",
    "pre", "q", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "u", "ul", "var",
  ];
  const ATTRIBUTES = ["href", "src", "alt", "title", "colspan", "rowspan", "scope", "start", "align", "class"];
  const OUR_CLASSES = new Set(["tex", "tex display"]);
  const WEB = /^(?:https?:|mailto:)/i;

  // Mathematics is taken out before Markdown sees it, as `_` and `\\` mean other things there.
  const FENCES = [["$$", "$$", true], ["\\[", "\\]", true], ["\\(", "\\)", false], ["$", "$", false]];

  function inlineMath(state, silent) {
    for (const [open, close, display] of FENCES) {
      if (!state.src.startsWith(open, state.pos)) continue;
      const start = state.pos + open.length;
      let end = state.src.indexOf(close, start);
      while (end > 0 && open[0] === "$" && state.src[end - 1] === "\\") end = state.src.indexOf(close, end + 1);
      if (end < 0 || end === start || end + close.length > state.posMax) continue;
      const tex = state.src.slice(start, end);
      // A lone dollar is money unless it hugs what it encloses, as in pandoc.
      if (open === "$" && (/^\s|\s$|\n\s*\n/.test(tex) || /\d/.test(state.src[end + 1] || ""))) continue;
      if (!silent) Object.assign(state.push("tex", "", 0), { content: tex, info: display ? "display" : "" });
      state.pos = end + close.length;
      return true;
    }
    return false;
  }

  function blockMath(state, startLine, endLine, silent) {
    const start = state.bMarks[startLine] + state.tShift[startLine];
    const first = state.src.slice(start, state.eMarks[startLine]);
    const environment = /^\\begin\{(equation|align|gather|multline|eqnarray|cases|array)(\*?)\}/.exec(first);
    const close = first.startsWith("$$") ? "$$" : first.startsWith("\\[") ? "\\]" : environment
      ? `\\end{${environment[1]}${environment[2]}}` : null;
    if (close === null) return false;
    const body = environment ? start : start + 2;
    const end = state.src.indexOf(close, environment ? start + 1 : body);
    if (end < 0) return false;
    let line = startLine;
    while (line < endLine && state.eMarks[line] < end + close.length) line += 1;
    if (line >= endLine || state.src.slice(end + close.length, state.eMarks[line]).trim()) return false;
    if (silent) return true;
    const tex = state.src.slice(body, environment ? end + close.length : end);
    Object.assign(state.push("tex", "", 0), { content: tex, info: "display", block: true, map: [startLine, line + 1] });
    state.line = line + 1;
    return true;
  }

  const markdown = window.markdownit({ html: true, linkify: false, breaks: false });
  markdown.inline.ruler.before("escape", "tex", inlineMath);
  markdown.block.ruler.before("fence", "tex", blockMath, { alt: ["paragraph", "reference", "blockquote", "list"] });
  markdown.renderer.rules.tex = (tokens, index) => {
    const { content, info } = tokens[index];
    return `<span class="tex${info ? " display" : ""}">${markdown.utils.escapeHtml(content)}</span>`;
  };
  // Columns keep their alignment without inline style, which the policy forbids.
  for (const rule of ["th_open", "td_open"]) {
    markdown.renderer.rules[rule] = (tokens, index, options, _env, self) => {
      const token = tokens[index];
      const style = token.attrGet("style");
      token.attrs = style ? [["align", style.replace("text-align:", "")]] : null;
      return self.renderToken(tokens, index, options);
    };
  }
  // What a link may be is decided below, for Markdown and HTML alike.
  markdown.validateLink = () => true;

  const purify = window.DOMPurify(window);
  purify.addHook("uponSanitizeAttribute", (_node, data) => {
    if (data.attrName === "class" && !OUR_CLASSES.has(data.attrValue)) data.keepAttr = false;
    if (data.attrName === "href" && !WEB.test(data.attrValue.trim())) data.keepAttr = false;
    // No picture is ever loaded from the text; figures are cut out of the page's own picture.
    if (data.attrName === "src") {
      _node.setAttribute("data-source", data.attrValue);
      data.keepAttr = false;
    }
  });

  function clean(html) {
    return purify.sanitize(html, {
      ALLOWED_TAGS: TAGS, ALLOWED_ATTR: [...ATTRIBUTES, "data-source"], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false,
      RETURN_DOM_FRAGMENT: true, SANITIZE_NAMED_PROPS: true,
    });
  }

  function drawMath(element, tex, display) {
    try {
      window.katex.render(tex, element, {
        displayMode: display, throwOnError: true, trust: false, strict: "ignore", maxSize: 20, maxExpand: 500,
      });
    } catch (error) {
      element.textContent = tex;
      element.classList.add("tex-error");
      element.title = `This is not valid TeX: ${error.message}`;
    }
  }

  /** The file that a run has cut out, in print resolution; should it be gone by now, the same part of the picture. */
  function figureFile(box, picture, words) {
    const image = pdfocr.h("img", { class: "figure-file", alt: words || "Figure", loading: "lazy", decoding: "async" });
    image.addEventListener("error", () => image.replaceWith(picture ? pdfocr.crop(picture, box, words)
      : pdfocr.h("span", { class: "no-figure" }, "Figure")));
    image.src = box.src;
    return image;
  }

  function figure(image, box, picture) {
    const { h } = pdfocr;
    const words = image.getAttribute("alt") || "";
    const elsewhere = WEB.test(image.getAttribute("data-source") || "");
    const element = h("figure", { class: "figure" });
    if (box && box.src) element.append(figureFile(box, picture, words));
    else if (box && picture && box.x1 > box.x0 && box.y1 > box.y0) element.append(pdfocr.crop(picture, box, words));
    else element.append(h("span", { class: "no-figure" }, elsewhere ? "Picture elsewhere, not loaded" : "Figure"));
    if (words) element.append(h("figcaption", {}, words));
    return element;
  }

  /** A part of the page's picture, by fractions of its sides. */
  pdfocr.crop = function crop(picture, box, words) {
    const frame = pdfocr.h("span", { class: "crop" });
    const image = pdfocr.h("img", { alt: words || "Figure", loading: "lazy" });
    const clamp = (value) => Math.min(1, Math.max(0, value));
    const [x0, y0, x1, y1] = [box.x0, box.y0, box.x1, box.y1].map(clamp);
    image.addEventListener("load", () => {
      const width = (x1 - x0) * image.naturalWidth;
      frame.style.width = `min(100%, ${Math.max(40, width / 2)}px)`;
      frame.style.aspectRatio = `${width} / ${Math.max(1, (y1 - y0) * image.naturalHeight)}`;
      image.style.width = `${100 / (x1 - x0)}%`;
      image.style.left = `${(-100 * x0) / (x1 - x0)}%`;
      image.style.top = `${(-100 * y0) / (y1 - y0)}%`;
    });
    image.addEventListener("error", () => frame.replaceWith(pdfocr.h("span", { class: "no-figure" }, "Figure")));
    image.src = picture;
    frame.append(image);
    return frame;
  };

  /** A page's Markdown as an element. `page` is the record with the path of its picture. */
  pdfocr.renderText = function renderText(page) {
    const { h } = pdfocr;
    const { record } = page;
    if (record.text.length > LONGEST) {
      return h("div", {}, h("p", { class: "note" }, "Too long to lay out; this is the text as it is."),
        h("pre", { class: "raw" }, record.text));
    }
    const element = h("div", { class: "prose" }, clean(markdown.render(record.text)));
    const images = [...element.querySelectorAll("img")];
    const figures = page.figures || [];
    const boxes = figures.length === images.length ? figures
      : record.boxes.filter((box) => /fig|image|picture|chart|diagram/i.test(box.label));
    // Figures and boxes belong together in their order; where their numbers differ, nobody knows which is which.
    images.forEach((image, at) => {
      image.replaceWith(figure(image, images.length === boxes.length ? boxes[at] : null, page.image));
    });
    // What the text does not name stands at its end, as in the Markdown file.
    if (!images.length) {
      for (const [at, box] of figures.entries()) {
        if (box.src) element.append(figure(h("img", { alt: `${box.label} ${at + 1}` }), box, page.image));
      }
    }
    for (const link of element.querySelectorAll("a[href]")) {
      link.rel = "noopener noreferrer nofollow";
      link.target = "_blank";
    }
    for (const table of element.querySelectorAll("table")) {
      const frame = h("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" });
      table.replaceWith(frame);
      frame.append(table);
    }
    for (const span of element.querySelectorAll(".tex")) {
      drawMath(span, span.textContent, span.classList.contains("display"));
    }
    // HTML blocks, tables above all, are passed through by Markdown with their mathematics as it is.
    for (const block of element.querySelectorAll("td, th, caption")) {
      if (block.querySelector(".tex, table")) continue;
      window.renderMathInElement(block, {
        delimiters: FENCES.map(([left, right, display]) => ({ left, right, display })),
        throwOnError: true, trust: false, strict: "ignore", errorCallback: () => {},
      });
    }
    return element;
  };
})();
