// The page around the program: loads the program, passes files to it, and stores its settings. `sluice export --format
// html` puts this script into one file, with page.js, page.wasm and a recording as elements with the attributes
// data-part and data-recording.
"use strict";
(() => {
  const message = document.getElementById("message");
  const canvas = document.getElementById("canvas");
  const waiting = [];
  let isReady = false;
  let wasm = null;  // The bytes of page.wasm if the page contains them;
  let fetched = null;  // otherwise the response to a request for them.

  function say(text) { message.hidden = text === ""; message.textContent = text; }

  // The program reads slices of the file by its address, so the file is not copied.
  function openFile(name, url, version, bytes) {
    if (!isReady) return waiting.push([name, url, version, bytes]);
    Module.ccall("sluice_open_file", null, ["string", "string", "string", "number"], [name, url, version, bytes]);
  }

  function openFiles(files) {
    for (const file of files) openFile(file.name, URL.createObjectURL(file), "", file.size);
  }

  async function openAddress(address) {
    const url = new URL(address, location.href);
    if (url.origin !== location.origin) return say("?file= names a file of another site: " + url.origin + ". Only files beside this page are opened.");
    const head = await fetch(url, { method: "HEAD" });
    if (!head.ok) return say("There is no " + url.pathname + " beside this page (" + head.status + ").");
    openFile(decodeURIComponent(url.pathname.split("/").pop()), url.href, head.headers.get("Sluice-Version") || "", Number(head.headers.get("Content-Length")));
  }

  // Finds the recordings that come with the page, if there are any, for the welcome screen.
  async function findOffered() {
    try {
      const index = await fetch("samples/index.txt");
      if (!index.ok) return;
      Module.index = await index.text();
      Module.offered = (await Promise.all(Module.index.split("\n").map(async line => {
        const name = line.split("\t")[0];
        if (!name.endsWith(".sluice")) return null;
        const url = new URL("samples/" + encodeURIComponent(name), location.href).href;
        const head = await fetch(url, { method: "HEAD" });
        return head.ok ? { name, url, bytes: Number(head.headers.get("Content-Length")) } : null;
      }))).filter(each => each);
    } catch (problem) {
      console.warn("no recordings beside the page:", problem);
    }
  }

  // Settings are files for the program. The browser preserves them between visits if it allows the page to store data.
  const settings = "/settings", kept = "sluice/";
  function readSettings() {
    Module.FS.mkdirTree(settings);
    Module.FS.mkdirTree("/samples");
    if (Module.index) Module.FS.writeFile("/samples/index.txt", Module.index);
    try {
      for (let i = 0; i < localStorage.length; ++i) {
        const key = localStorage.key(i);
        if (key.startsWith(kept)) Module.FS.writeFile(settings + "/" + key.slice(kept.length), localStorage.getItem(key));
      }
    } catch (problem) {
      console.warn("settings are not kept:", problem);
    }
  }
  function keepSettings() {
    if (!isReady) return;
    try {
      Module.ccall("sluice_leave", null, [], []);
      for (const name of Module.FS.readdir(settings))
        if (!name.startsWith(".")) localStorage.setItem(kept + name, Module.FS.readFile(settings + "/" + name, { encoding: "utf8" }));
    } catch (problem) {
      console.warn("settings are not kept:", problem);
    }
  }
  addEventListener("pagehide", keepSettings);
  document.addEventListener("visibilitychange", () => { if (document.hidden) keepSettings(); });

  addEventListener("dragover", event => event.preventDefault());
  addEventListener("drop", event => {
    event.preventDefault();
    openFiles(event.dataTransfer.files);
  });

  // If the server does not isolate the page, the page cannot share memory with other threads, so it works on queries
  // between its frames. The memory itself is declared as shared in either case.
  const isolated = typeof SharedArrayBuffer !== "undefined";
  if (!isolated) window.SharedArrayBuffer = new WebAssembly.Memory({ initial: 0, maximum: 0, shared: true }).buffer.constructor;

  const offered = document.querySelector("script[data-part]") ? Promise.resolve() : findOffered();

  window.Module = {
    canvas,
    threads: isolated ? 12 : 0,
    offered: [],
    held: null,
    preRun: [() => {
      addRunDependency("the recordings beside the page");
      offered.then(() => {
        readSettings();
        removeRunDependency("the recordings beside the page");
      });
    }],
    instantiateWasm(imports, receive) {
      const compiled = wasm ? WebAssembly.instantiate(wasm, imports) : WebAssembly.instantiateStreaming(fetched, imports);
      compiled.then(({ instance, module }) => {
        receive(instance, module);
        if (!isolated) removeRunDependency("wasm-instantiate");  // Emscripten waits for threads that do not exist.
      }).catch(problem => say("page.wasm cannot be loaded: " + problem));
      return {};
    },
    ready() {
      isReady = true;
      say("");
      canvas.focus();
      for (const each of waiting) openFile(...each);
      for (const address of new URLSearchParams(location.search).getAll("file")) openAddress(address);
    },
    failed(text) { say(text); },
    onAbort(what) { say("Sluice stopped: " + what); },
    chooseFile() {
      const input = document.createElement("input");
      input.type = "file";
      input.multiple = true;
      input.addEventListener("change", () => openFiles(input.files));
      input.click();
    },
    download(name, blob) {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    },
  };

  function load(script) {
    const element = document.createElement("script");
    element.src = script;
    element.onerror = () => say("page.js is missing beside this page.");
    document.body.append(element);
  }

  // Decodes base64 in single-file pages. The base64 is in pieces, because browsers limit the length of a text.
  function bytesOf(element) {
    const text = element.textContent, piece = 1 << 20;
    const bytes = new Uint8Array(text.length / 4 * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0));
    for (let from = 0, to = 0; from < text.length; from += piece) {
      const part = atob(text.slice(from, from + piece));
      for (let i = 0; i < part.length; ++i) bytes[to++] = part.charCodeAt(i);
    }
    element.remove();
    return bytes;
  }
  function unpacked(name) {
    const packed = new Blob([bytesOf(document.querySelector(`script[data-part="${name}"]`))]);
    return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip")));
  }
  async function loadParts() {
    Module.held = new Map();
    for (const element of document.querySelectorAll("script[data-recording]")) {
      const name = element.dataset.recording, bytes = bytesOf(element);
      Module.held.set(name, bytes);
      openFile(name, name, "", bytes.length);
    }
    wasm = await unpacked("page.wasm").arrayBuffer();
    load(URL.createObjectURL(new Blob([await unpacked("page.js").text()], { type: "text/javascript" })));
  }

  if (document.querySelector("script[data-part]")) loadParts().catch(problem => say("This page cannot be shown here: " + problem));
  else {
    fetched = fetch("page.wasm");
    load("page.js");
  }
})();
