/**
 * Binds the methods of an object, including those of its subclass, so that they find its private fields when a reactive
 * framework such as Vue or MobX has put a proxy around it. The bound methods are not enumerable, so nothing prints them.
 */
export function bindMethods(object: object): void {
  for (let owner = object; owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
    for (const name of Reflect.ownKeys(owner)) {
      const value: unknown = Object.getOwnPropertyDescriptor(owner, name)?.value
      if (typeof value !== 'function' || name === 'constructor' || Object.hasOwn(object, name)) continue
      Object.defineProperty(object, name, { value: value.bind(object), configurable: true, writable: true })
    }
  }
}
