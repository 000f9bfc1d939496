// Resolves this package to its source, so that an example needs no build, and two of them do not rebuild what both load.
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    const [, entry] = /^support-workspace-sdk(?:\/([a-z-]+))?$/.exec(specifier) ?? [specifier, null]
    return next(
      entry === null
        ? specifier
        : new URL(`../src/${entry === undefined ? '' : `${entry}/`}index.ts`, import.meta.url).href,
      context,
    )
  },
})
