// Bytes that a bundler makes of typical imports, minified and gzipped. What is loaded lazily, the schemas and
// sealing, is counted by the last two. ky is 8.9 kB of each that has a client. `npm run size` fails above a limit: raise one only with a reason.

/** Leaves out what `import()` loads. */
const initially = (config) => ({
  ...config,
  format: 'esm',
  plugins: [
    {
      name: 'initially',
      setup: (build) =>
        build.onResolve({ filter: /.*/ }, ({ kind }) => (kind === 'dynamic-import' ? { external: true } : undefined)),
    },
  ],
})
const everything = (config) => ({ ...config, format: 'esm' })

const check = (name, path, imported, limit, modifyEsbuildConfig = initially) => ({
  name,
  path,
  import: `{ ${imported} }`,
  limit,
  gzip: true,
  modifyEsbuildConfig,
})

export default [
  check('SupportWorkspace', 'dist/index.js', 'SupportWorkspace', '36.4 kB'),
  check('PublicOAuthApp in one file', 'dist/oauth.js', 'PublicOAuthApp', '8.1 kB', everything),
  check('PublicOAuthApp and scopesFor', 'dist/oauth.js', 'PublicOAuthApp, scopesFor', '9.4 kB'),
  check('scopesFor', 'dist/oauth.js', 'scopesFor', '3.7 kB'),
  check('OAuthApp and createLoginHandlers', 'dist/oauth.js', 'OAuthApp, createLoginHandlers', '22.5 kB'),
  check('ConnectionStore', 'dist/oauth.js', 'ConnectionStore', '44 kB'),
  check('ChangeFeed', 'dist/changes.js', 'ChangeFeed', '13 kB'),
  check('WriteJournal', 'dist/journal.js', 'WriteJournal', '15 kB'), // Its records are checked entries, code that a feed and connections share.
  check('htmlToText', 'dist/html.js', 'htmlToText', '21.3 kB'),
  check('Approvals', 'dist/approvals.js', 'Approvals', '21.8 kB'),
  check('redisStorage', 'dist/storage.js', 'redisStorage', '1.1 kB'),
  check('SupportWorkspace with everything it loads', 'dist/index.js', 'SupportWorkspace', '43.1 kB', everything),
  check('ConnectionStore with everything it loads', 'dist/oauth.js', 'ConnectionStore', '59.5 kB', everything),
]
