"use strict";
// Hovering, zooming and the filter. Everything that is shown stands on the page already; this moves it.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const read = (id) => {
    const block = document.getElementById(id);
    return block ? JSON.parse(block.textContent) : null;
  };
  const COUNTERS = ["Pending", "Running", "Dead"];
  const terms = read("terms") || [];
  const tracks = new Map();

  const track = (number) => {
    if (!tracks.has(number)) {
      const raw = read("track-" + number);
      let at = 0;
      if (raw) raw.index = raw.index.map((step) => (at += step));
      tracks.set(number, raw);
    }
    return tracks.get(number);
  };
  const minus = (n) => (n < 0 ? "\u2212" + -n : String(n));
  const short = (n) => {
    const a = Math.abs(n);
    const trim = (x) => String(Math.round(x * 10) / 10);
    const text = a < 1e4 ? String(a) : a < 1e6 ? trim(a / 1e3) + "k" : a < 1e9 ? trim(a / 1e6) + "M" : trim(a / 1e9) + "G";
    return n < 0 ? "\u2212" + text : text;
  };
  const termOf = (index) => {
    const span = terms.find((t) => index >= t[1] && index <= t[2]);
    return span ? span[0] : null;
  };
  // The place of the last change at or before an index; -1 before the first.
  const placeOf = (data, index) => {
    let low = 0, high = data.index.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (data.index[middle] <= index) low = middle + 1; else high = middle;
    }
    return low - 1;
  };

  const charts = [];
  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.data = track(figure.dataset.track);
      this.low = Number(figure.dataset.low);
      this.high = Number(figure.dataset.high);
      this.from = Number(figure.dataset.from);
      this.to = Number(figure.dataset.to);
      this.first = [this.from, this.to];
      this.caption = figure.querySelector("figcaption strong");
      this.title = this.caption.textContent;
      this.area = figure.querySelector("svg.area");
      this.readout = figure.querySelector(".readout");
      this.cross = document.createElementNS(SVG, "line");
      this.cross.setAttribute("class", "cross");
      this.cross.setAttribute("y1", "0");
      this.cross.setAttribute("y2", figure.querySelector("g.ticks").dataset.top);
      this.cross.setAttribute("visibility", "hidden");
      this.area.append(this.cross);
      this.place = null;
      figure.querySelector(".tools").hidden = false;
      this.listen();
      this.idle();
      this.draw();
    }

    idle() {
      this.say(this === charts[0] || !charts.length ? "point at the chart; or focus it: arrow keys go from change to change, + and \u2212 zoom, 0 shows all" : "", true);
    }

    say(text, quiet) {
      this.readout.textContent = text;
      this.readout.classList.toggle("quiet", Boolean(quiet));
    }

    x(index) {
      return ((index - this.from) / (this.to - this.from + 1)) * 100;
    }

    indexAt(event) {
      const box = this.area.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      return Math.min(this.to, Math.floor(this.from + share * (this.to - this.from + 1)));
    }

    // What was so at an index, and since which entry.
    tell(index) {
      const data = this.data;
      const place = placeOf(data, index);
      this.cross.setAttribute("x1", this.x(index) + "%");
      this.cross.setAttribute("x2", this.x(index) + "%");
      this.cross.setAttribute("visibility", "visible");
      const term = termOf(index);
      const head = "index " + index + (term === null ? "" : ", term " + term);
      if (place < 0) return this.say(head + ": not there yet");
      const counts = data.counts.slice(3 * place, 3 * place + 3);
      const entry = data.names[data.entry[place]];
      const child = data.child[place] < 0 ? "" : ", " + data.names[data.child[place]];
      const here = data.index[place] === index;
      const values = counts[0] === null ? "gone" : COUNTERS.map((name, i) => name + " " + minus(counts[i])).join(", ");
      this.say(here ? head + ", " + entry + ": " + values + child : head + ": " + values + ", since entry " + data.index[place] + " (" + entry + ")");
    }

    zoom(from, to) {
      const least = Math.min(10, this.high - this.low);
      let span = Math.max(least, Math.round(to - from));
      span = Math.min(span, this.high - this.low);
      from = Math.round(Math.min(Math.max(from, this.low), this.high - span));
      this.from = from;
      this.to = from + span;
      this.draw();
    }

    scale(factor, around) {
      const span = (this.to - this.from) * factor;
      const share = (around - this.from) / Math.max(1, this.to - this.from);
      this.zoom(around - share * span, around + (1 - share) * span);
    }

    middle() {
      const at = this.place === null ? null : this.data.index[this.place];
      return at !== null && at >= this.from && at <= this.to ? at : (this.from + this.to) / 2;
    }

    bounds(lane) {
      const data = this.data;
      let low = 0, high = 1;
      for (let i = Math.max(0, placeOf(data, this.from)); i < data.index.length && data.index[i] <= this.to; i++) {
        const count = data.counts[3 * i + lane];
        if (count === null) continue;
        low = Math.min(low, count);
        high = Math.max(high, count);
      }
      return [low, high];
    }

    draw() {
      const span = this.to - this.from + 1;
      for (const lane of this.area.querySelectorAll("svg.lane")) {
        const number = Number(lane.dataset.lane);
        const [low, high] = this.bounds(number);
        const pad = (high - low) * 0.1;
        const tall = high - low + 2 * pad;
        lane.setAttribute("viewBox", [this.from - this.low, -(high + pad), span, tall].join(" "));
        const group = this.figure.querySelector('g.scale[data-lane="' + number + '"]');
        const top = Number(group.dataset.top), height = Number(group.dataset.height);
        const y = (count) => top + ((high + pad - count) / tall) * height;
        const put = (name, count, shown) => {
          const text = group.querySelector("." + name);
          text.setAttribute("y", y(count) + 4);
          text.textContent = short(count);
          text.setAttribute("visibility", shown ? "visible" : "hidden");
        };
        const far = (a, b) => Math.abs(y(a) - y(b)) >= 13;
        put("high", high, true);
        put("low", low, low < 0);
        put("zero", 0, far(0, high) && (low === 0 || far(0, low)));
      }
      this.area.querySelectorAll("[data-i]").forEach((mark) => this.move(mark));
      this.ticks();
      this.declutter();
      this.figure.querySelector(".shown").textContent = this.from + " to " + this.to;
      const whole = this.from === this.low && this.to === this.high;
      this.caption.textContent = whole ? "The whole log" : this.from === this.first[0] && this.to === this.first[1] ? this.title : "A part of the log";
      this.cross.setAttribute("visibility", "hidden");
    }

    move(mark) {
      const begin = Number(mark.dataset.i);
      const clamp = (x) => Math.min(100, Math.max(0, x));
      let shown = begin >= this.from && begin <= this.to;
      if (mark.tagName === "line") {
        mark.setAttribute("x1", this.x(begin) + "%");
        mark.setAttribute("x2", this.x(begin) + "%");
      } else if (mark.tagName === "rect") {
        const left = clamp(this.x(begin));
        const right = clamp(mark.dataset.j ? this.x(Number(mark.dataset.j)) : 100);
        shown = right > left;
        mark.setAttribute("x", left + "%");
        mark.setAttribute("width", (mark.classList.contains("wrong") ? Math.max(0.15, right - left) : right - left) + "%");
      } else {
        if (mark.dataset.j) shown = Number(mark.dataset.j) > this.from && begin <= this.to;
        mark.setAttribute("x", clamp(this.x(begin)) + "%");
      }
      mark.setAttribute("visibility", shown ? "visible" : "hidden");
    }

    ticks() {
      const group = this.figure.querySelector("g.ticks");
      const top = Number(group.dataset.top);
      const most = Math.max(2, Math.floor(this.area.getBoundingClientRect().width / 90));
      const span = this.to - this.from;
      let step = 1;
      for (let power = 1, done = false; !done; power *= 10) {
        for (const factor of [1, 2, 5]) {
          step = power * factor;
          if (span / step < most) { done = true; break; }
        }
      }
      group.replaceChildren();
      for (let tick = Math.ceil(this.from / step) * step; tick <= this.to; tick += step) {
        const at = this.x(tick);
        if (at <= 2 || at >= 97) continue;
        const line = document.createElementNS(SVG, "line");
        const text = document.createElementNS(SVG, "text");
        for (const [name, value] of [["class", "tick"], ["x1", at + "%"], ["x2", at + "%"], ["y1", top], ["y2", top + 4]]) line.setAttribute(name, value);
        for (const [name, value] of [["class", "tick"], ["x", at + "%"], ["y", top + 16], ["text-anchor", "middle"]]) text.setAttribute(name, value);
        text.textContent = tick;
        group.append(line, text);
      }
    }

    // Hides labels that would run into the one before them.
    declutter() {
      const width = this.area.getBoundingClientRect().width;
      if (width === 0) return;
      for (const row of ["terms", "pins", "events"]) {
        let free = -Infinity;
        for (const text of this.area.querySelectorAll('text[data-row="' + row + '"]')) {
          if (text.getAttribute("visibility") === "hidden") continue;
          const at = (parseFloat(text.getAttribute("x")) / 100) * width;
          const long = text.getComputedTextLength() + 10;
          let turned = false;
          if (row !== "terms") {
            turned = at + long > width;
            text.setAttribute("text-anchor", turned ? "end" : "start");
            text.setAttribute("dx", turned ? "-5" : row === "pins" ? "5" : "-4");
          }
          const end = row === "terms" ? (Math.min(100, this.x(Number(text.dataset.j))) / 100) * width : width;
          const left = turned ? at - long : at;
          const fits = left >= free && left >= 0 && (turned || at + long <= end + 1);
          text.setAttribute("visibility", fits ? "visible" : "hidden");
          if (fits) free = left + long;
        }
      }
    }

    // Goes to the change at a place of the track.
    go(place) {
      const data = this.data;
      this.place = Math.min(Math.max(0, place), data.index.length - 1);
      const index = data.index[this.place];
      if (index < this.from || index > this.to) {
        const half = Math.floor((this.to - this.from) / 2);
        this.zoom(index - half, index + half);
      }
      this.tell(index);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.figure) return;
      const span = this.to - this.from;
      const first = () => placeOf(this.data, this.from - 1) + 1;
      const keys = {
        ArrowRight: () => (event.shiftKey ? this.zoom(this.from + span / 4, this.to + span / 4) : this.go(this.place === null ? first() : this.place + 1)),
        ArrowLeft: () => (event.shiftKey ? this.zoom(this.from - span / 4, this.to - span / 4) : this.go(this.place === null ? placeOf(this.data, this.to) : this.place - 1)),
        Home: () => this.go(0),
        End: () => this.go(this.data.index.length - 1),
        "+": () => this.scale(0.5, this.middle()),
        "=": () => this.scale(0.5, this.middle()),
        "-": () => this.scale(2, this.middle()),
        "0": () => this.zoom(this.low, this.high),
        Escape: () => this.zoom(this.low, this.high),
        Enter: () => {
          const at = this.place === null ? null : document.getElementById("entry-" + this.data.index[this.place]);
          if (at) { location.hash = at.id; at.focus(); }
        },
      };
      if (keys[event.key]) {
        event.preventDefault();
        keys[event.key]();
      }
    }

    listen() {
      let pressed = null, box = null;
      this.figure.addEventListener("keydown", (event) => this.key(event));
      this.area.addEventListener("pointermove", (event) => {
        const index = this.indexAt(event);
        if (pressed !== null && box) {
          const [a, b] = [Math.min(pressed, index), Math.max(pressed, index)];
          box.setAttribute("x", this.x(a) + "%");
          box.setAttribute("width", this.x(b + 1) - this.x(a) + "%");
        }
        // A change that is only a few pixels away is what was meant.
        const near = ((this.to - this.from + 1) / this.area.getBoundingClientRect().width) * 4;
        let best = index;
        for (let i = placeOf(this.data, index + near), far = near; i >= 0 && index - this.data.index[i] <= near; i--) {
          const distance = Math.abs(this.data.index[i] - index);
          if (distance <= far) [best, far] = [this.data.index[i], distance];
        }
        this.tell(best);
      });
      this.area.addEventListener("pointerleave", () => {
        if (pressed !== null) return;
        this.cross.setAttribute("visibility", "hidden");
        this.idle();
      });
      this.area.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        pressed = this.indexAt(event);
        this.area.setPointerCapture(event.pointerId);
        box = document.createElementNS(SVG, "rect");
        box.setAttribute("class", "select");
        box.setAttribute("y", "0");
        box.setAttribute("width", "0");
        box.setAttribute("height", this.cross.getAttribute("y2"));
        this.area.append(box);
      });
      const release = (event) => {
        if (pressed === null) return;
        const index = this.indexAt(event);
        const [a, b] = [Math.min(pressed, index), Math.max(pressed, index)];
        pressed = null;
        if (box) box.remove();
        if (event.type === "pointerup" && this.x(b) - this.x(a) > 1) this.zoom(a, b);
      };
      this.area.addEventListener("pointerup", release);
      this.area.addEventListener("pointercancel", release);
      this.area.addEventListener("dblclick", () => this.zoom(this.low, this.high));
      this.figure.querySelector(".tools").addEventListener("click", (event) => {
        const act = { in: () => this.scale(0.5, this.middle()), out: () => this.scale(2, this.middle()), whole: () => this.zoom(this.low, this.high) }[event.target.dataset.do];
        if (act) act();
      });
    }
  }

  document.querySelectorAll("figure.chart").forEach((figure) => charts.push(new Chart(figure)));
  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      charts.forEach((chart) => chart.draw());
    });
  };
  addEventListener("resize", redraw);
  document.querySelectorAll("details").forEach((details) => details.addEventListener("toggle", redraw));

  // An article, or a section that has none, stays where its text holds every word.
  const filter = document.getElementById("filter");
  filter.closest(".tools").hidden = false;
  const parts = [...document.querySelectorAll(".find")];
  const text = new Map(parts.map((part) => [part, part.textContent.toLowerCase()]));
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const part of parts) {
      const fits = words.every((word) => text.get(part).includes(word));
      part.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    document.getElementById("filtered").textContent = words.length ? shown + " of " + parts.length : "";
    redraw();
  };
  filter.addEventListener("input", apply);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== filter) {
      event.preventDefault();
      filter.focus();
    }
  });
})();
