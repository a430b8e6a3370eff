/* A document that can only be written: with it a figure is drawn where there is no browser, when the
   book is built. `outerHTML` is all that anybody asks of its elements. */

const VOID = new Set(["input", "br", "hr", "img"]);
const escaped = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

class Element {
  constructor(tag) { Object.assign(this, { tag, attributes: new Map(), children: [] }); }
  setAttribute(name, value) { this.attributes.set(name, String(value)); }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  addEventListener() {}
  get outerHTML() {
    const attributes = [...this.attributes].map(([name, value]) => ` ${name}="${escaped(value).replaceAll('"', "&quot;")}"`);
    const start = `<${this.tag}${attributes.join("")}>`;
    if (VOID.has(this.tag)) return start;
    return `${start}${this.children.map((child) => child.outerHTML ?? escaped(child)).join("")}</${this.tag}>`;
  }
}

export const paper = { createElement: (tag) => new Element(tag), createElementNS: (_, tag) => new Element(tag) };
