// Preloaded into a process of an example with `--import`: resolves the package to its source, so that no build is needed.
import { registerHooks } from 'node:module'

const source = new URL('../../../src/', import.meta.url)

registerHooks({
  resolve(specifier, context, next) {
    const [name, entry = 'index'] = specifier.split('/')
    return name === 'support-workspace-sdk'
      ? next(new URL(`${entry}.ts`, source).href, context)
      : next(specifier, context)
  },
})
