/**
 * Creates an element. Strings become text nodes, so untrusted text cannot become markup.
 *
 * @example
 * element('p', { className: 'soft' }, 'Hello ', element('strong', {}, name))
 */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

/** Returns an element of `index.html` by its id. */
export function part(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`index.html has no #${id}`)
  return found
}

/** Announces a change to screen reader users. */
export function announce(text: string): void {
  part('status').textContent = text
}
