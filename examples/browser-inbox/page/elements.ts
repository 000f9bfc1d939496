/**
 * Makes an element. Texts become text nodes, so nothing from outside can become markup.
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

/** A part of `index.html`. */
export function part(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`index.html has no #${id}`)
  return found
}

/** Says something that can be seen elsewhere on the page to those who listen to it. */
export function announce(text: string): void {
  part('status').textContent = text
}
