// Functions that the page provides to the program; page_functions.hpp declares them. `Module` is that of index.html.
mergeInto(LibraryManager.library, {
  // A worker waits for the response. On the page's own thread, binary responses are not allowed, so that thread gets
  // the response as text with one character per byte.
  sluice_read_slice: function (url, offset, to, length) {
    try {
      const held = Module.held && Module.held.get(UTF8ToString(url));
      if (held) {
        const bytes = held.subarray(offset, offset + length);
        HEAPU8.set(bytes, to);
        return bytes.length;
      }
      const request = new XMLHttpRequest();
      request.open("GET", UTF8ToString(url), false);
      request.setRequestHeader("Range", "bytes=" + offset + "-" + (offset + length - 1));
      const binary = typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope;
      if (binary) request.responseType = "arraybuffer";
      else request.overrideMimeType("text/plain; charset=x-user-defined");
      request.send();
      if (request.status === 416) return 0;
      if (request.status !== 206 && request.status !== 200) return -1;
      const first = request.status === 206 ? 0 : offset;
      if (binary) {
        const bytes = new Uint8Array(request.response, first, Math.min(length, request.response.byteLength - first));
        HEAPU8.set(bytes, to);
        return bytes.length;
      }
      const text = request.responseText;
      const count = Math.min(length, text.length - first);
      for (let i = 0; i < count; ++i) HEAPU8[to + i] = text.charCodeAt(first + i) & 255;
      return count;
    } catch (problem) {
      console.error("reading a slice of the recording failed:", problem);
      return -1;
    }
  },

  sluice_look: function (url, bytes, newest, room) {
    try {
      const request = new XMLHttpRequest();
      request.open("HEAD", UTF8ToString(url), false);
      request.send();
      if (request.status !== 200) return -1;
      HEAPF64[bytes >> 3] = Number(request.getResponseHeader("Content-Length"));
      stringToUTF8(request.getResponseHeader("Sluice-Newest") || "", newest, room);
      return request.getResponseHeader("Sluice-Growing") === "1" ? 1 : 0;
    } catch (problem) {
      console.error("querying the size of the recording failed:", problem);
      return -1;
    }
  },

  sluice_make_node__deps: ["$FS"],
  sluice_make_node: function (folder, name, bytes) {
    FS.mkdirTree(UTF8ToString(folder));
    FS.createFile(UTF8ToString(folder), UTF8ToString(name), {}, true, false).usedBytes = bytes;
  },

  sluice_watch_input: function () {
    Module.inputs = 0;
    for (const kind of ["mousemove", "mousedown", "mouseup", "wheel", "keydown", "keyup", "resize", "focus", "blur", "visibilitychange"])
      addEventListener(kind, () => { ++Module.inputs; }, { capture: true, passive: true });
  },
  sluice_inputs: function () { return Module.inputs; },
  sluice_set_title: function (text) { document.title = UTF8ToString(text); },
  sluice_copy: function (text) {
    if (navigator.clipboard) navigator.clipboard.writeText(UTF8ToString(text)).catch(() => {});
  },
  sluice_has_threads: function () { return Module.threads > 0 ? 1 : 0; },
  sluice_offer_recordings: function () {
    for (const each of Module.offered) Module.ccall("sluice_offer_file", null, ["string", "string", "number"], [each.name, each.url, each.bytes]);
  },
  sluice_choose_file: function () { Module.chooseFile(); },
  sluice_give_files__deps: ["$FS"],
  sluice_give_files: function (folder) {
    const path = UTF8ToString(folder);
    if (!FS.analyzePath(path).exists) FS.mkdirTree(path);
    for (const name of FS.readdir(path)) {
      if (name === "." || name === ".." || /\.part-[0-9a-f]{16}$/.test(name)) continue;
      Module.download(name, new Blob([FS.readFile(path + "/" + name)]));
      FS.unlink(path + "/" + name);
    }
  },
  sluice_give_picture: function (name, x, y, width, height) {
    const part = document.createElement("canvas"), text = UTF8ToString(name);
    part.width = width;
    part.height = height;
    part.getContext("2d").drawImage(Module.canvas, x, y, width, height, 0, 0, width, height);
    part.toBlob(blob => Module.download(text, blob), "image/png");
  },
  sluice_failed: function (text) { Module.failed(UTF8ToString(text)); },
  sluice_ready: function () { Module.ready(); },
});
