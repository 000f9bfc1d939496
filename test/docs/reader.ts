import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Sandbox, type SandboxOptions, startSandbox } from 'support-workspace-sdk/sandbox'
import { onTestFinished } from 'vitest'
import { freePort } from '../helpers/free-port.ts'
import { type Page, programOf, root, writeFiles } from './page.ts'

/** A program that has ended. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A program that serves a website. */
export interface Site {
  /** Origin of the site. */
  readonly url: string
  /** What it has printed. */
  readonly output: { stdout: string; stderr: string }
  stop(): Promise<Ended>
}

/** A reader who has saved one program of a page and starts it. */
export interface Reader {
  /** The folder with the files, in which programs run. */
  readonly folder: string
  /** The service that `SUPPORT_WORKSPACE_URL` names. `SUPPORT_WORKSPACE_TOKEN` is the token of a person. */
  readonly sandbox: Sandbox
  /** Starts the service with other options. Call this before the first `run`. */
  useSandbox(options: SandboxOptions): Promise<Sandbox>
  /** Saves another program of the page. */
  save(file: string): Promise<void>
  /** Runs the program to its end. */
  run(given?: Given): Promise<Ended>
  /** Runs the program until the test has ended, and returns when it answers requests. */
  serve(given?: Given): Promise<Site>
}

interface Given {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Another program than that of the test. One of the page is saved first. */
  readonly file?: string
}

/** How a program of a page is run, or why its types alone are checked. */
export type Program = ((reader: Reader) => Promise<void>) | { readonly typesOnly: string }

/** The programs of each page. A file that another file of the page imports needs no entry. */
export type Programs = Readonly<Record<string, Readonly<Record<string, Program>>>>

/** Where packages of an install line are linked from. */
const installed = `${root}node_modules/`
const dependencies = ['ky', 'jose', 'oauth4webapi', '@types/node', 'undici-types']

/** Makes the `node_modules` of a page: a copy of the package, and links to its dependencies and to what the page installs. */
export async function install(page: Page, modules: string, packed: string): Promise<void> {
  // A copy, because a link would resolve optional dependencies beside the original.
  await cp(packed, join(modules, 'support-workspace-sdk'), { recursive: true })
  for (const name of new Set([...dependencies, ...page.packages])) {
    // A framework that the programs themselves do not import.
    if (!existsSync(installed + name)) continue
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(installed + name, join(modules, name), 'junction')
  }
}

/** Makes a folder as `npm init -y` does, with files and the `node_modules` of their page. */
export async function makeFolder(folder: string, files: Page['files'], modules: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFiles(files, folder)
  await writeFile(join(folder, 'package.json'), '{ "name": "reader", "version": "1.0.0", "type": "commonjs" }')
  await symlink(modules, join(folder, 'node_modules'), 'junction')
}

/** Opens a folder with one program of a page, and nothing else of the page. */
export async function openReader(page: Page, folder: string, file: string): Promise<Reader> {
  const port = await freePort()
  const redirectUri = `http://127.0.0.1:${port}/callback`
  const start = async (options: SandboxOptions) => {
    const sandbox = await startSandbox({
      conversations: 120,
      autoConsent: 'allow',
      ...options,
      app: { redirectUris: [redirectUri], ...options.app },
    })
    onTestFinished(() => sandbox.close())
    return sandbox
  }
  let sandbox = await start({})

  /** Saves a program, and leaves files that a test has changed. */
  const save = (name: string) => {
    const missing = [...programOf(page, name)].filter(([other]) => !existsSync(join(folder, other)))
    return writeFiles(new Map(missing), folder)
  }

  const launch = async ({ args = [], env = {}, file: name = file }: Given) => {
    if (page.files.has(name)) await save(name)
    const given = {
      SUPPORT_WORKSPACE_URL: sandbox.url,
      SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }),
      SUPPORT_WORKSPACE_CLIENT_ID: sandbox.app.clientId,
      SUPPORT_WORKSPACE_CLIENT_SECRET: sandbox.app.clientSecret,
      SUPPORT_WORKSPACE_REDIRECT_URI: redirectUri,
      LOGIN_SECRET: 'a-secret-for-the-tests-with-32-characters',
      PORT: String(port),
    }
    const child = spawn(process.execPath, [name, ...args], {
      cwd: folder,
      env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', ...given, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (text) => (output[name] += text))
    const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...output })))
    return { child, output, ended }
  }

  return {
    folder,
    get sandbox() {
      return sandbox
    },
    save,
    useSandbox: async (options) => {
      await sandbox.close()
      sandbox = await start(options)
      return sandbox
    },
    run: async (given = {}) => (await launch(given)).ended,
    async serve(given = {}) {
      const { child, output, ended } = await launch(given)
      const url = `http://127.0.0.1:${port}`
      await answering(url, child, output)
      const stop = () => {
        child.kill('SIGTERM')
        return ended
      }
      return { url, output, stop }
    },
  }
}

async function answering(url: string, child: ChildProcess, output: Site['output']): Promise<void> {
  while (child.exitCode === null) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`The program ended before it answered.\n${output.stdout}${output.stderr}`)
}
