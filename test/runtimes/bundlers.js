// Production builds of the smoke test with the bundlers that applications use.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Bundles main.js with everything it imports for Node. Calls a function with the path of the bundle. */
export async function withWebpackBundle(use) {
  const { default: webpack } = await import('webpack')
  return withFolder(async (folder) => {
    const compiler = webpack({
      mode: 'production',
      target: 'node22',
      context: here,
      entry: './main.js',
      experiments: { outputModule: true },
      output: { path: folder, filename: 'main.mjs', module: true },
    })
    const stats = await new Promise((resolve, reject) => {
      compiler.run((error, stats) => (error ? reject(error) : resolve(stats)))
    })
    await new Promise((resolve) => compiler.close(resolve))
    if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString())
    return use(join(folder, 'main.mjs'))
  })
}

/** Bundles main.js with everything it imports for Node. Calls a function with the path of the bundle. */
export async function withViteBundle(use) {
  const { build } = await import('vite')
  return withFolder(async (folder) => {
    await build({
      root: here,
      configFile: false,
      logLevel: 'error',
      ssr: { noExternal: true },
      build: {
        ssr: 'main.js',
        outDir: folder,
        minify: true,
        rollupOptions: { output: { entryFileNames: 'main.mjs' } },
      },
    })
    return use(join(folder, 'main.mjs'))
  })
}

/** Builds the Next application and starts it on a free port. Returns its URL, and a function that stops it. */
export async function startNext(node, env) {
  const next = join(here, 'node_modules/next/dist/bin/next')
  const options = { cwd: join(here, 'next'), env: { ...process.env, ...env, NEXT_TELEMETRY_DISABLED: '1' } }
  const building = spawn(node, [next, 'build'], options)
  const output = []
  for (const stream of [building.stdout, building.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const [status] = await once(building, 'close')
  if (status !== 0) throw new Error(Buffer.concat(output).toString())
  const server = spawn(node, [next, 'start', '--port', '0', '--hostname', '127.0.0.1'], {
    ...options,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = async () => {
    if (server.exitCode === null && server.kill()) await once(server, 'close')
  }
  for await (const line of createInterface(server.stdout)) {
    const [url] = /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(line) ?? []
    if (url !== undefined) return { url, stop }
  }
  throw new Error('`next start` did not name its URL.')
}

/** Opens the page of the Next application in Chromium and returns the text of its client component. */
export async function textInChromium(url, given) {
  const { chromium } = await import('playwright-core')
  const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium-headless-shell'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const page = await browser.newPage()
    await page.goto(`${url}/#${encodeURIComponent(JSON.stringify(given))}`)
    return await page.locator('output:not(:empty)').innerText()
  } finally {
    await browser.close()
  }
}

async function withFolder(use) {
  const folder = await mkdtemp(join(tmpdir(), 'bundle-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}
