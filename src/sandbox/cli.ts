#!/usr/bin/env node
import process from 'node:process'
import { version } from '../shared/version.ts'
import { help, readArguments, type SandboxCommand, UsageError } from './command-line.ts'
import { newToken } from './data/grants.ts'
import type { RecordedRequest } from './request-log.ts'
import { type Sandbox, startSandbox } from './start-sandbox.ts'

// The reader of a pipe such as `| head -3` can close it at any time. Without a listener Node would print the error's stack.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? process.exitCode : 1))
}
await main()

async function main(): Promise<void> {
  try {
    const command = readArguments(process.argv.slice(2))
    if (command.kind === 'sandbox') await serve(command)
    else print(command.kind === 'help' ? help : `${version}\n`)
  } catch (error) {
    // A `TypeError` reports an invalid option. Any other error means that the server could not listen.
    const usage = error instanceof UsageError || error instanceof TypeError
    process.stderr.write(`${printable(error instanceof Error ? error.message : String(error))}\n`)
    process.exitCode = usage ? 2 : 1
  }
}

async function serve({ options, faults, log }: SandboxCommand): Promise<void> {
  const { self = newToken(), app = newToken() } = options.tokens ?? {}
  const tokens = { self, app }
  const sandbox = await startSandbox({
    ...options,
    tokens,
    ...(log && { onRequest: (request) => print(logLine(request)) }),
  })
  for (const fault of faults) sandbox.faults.add(fault)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void sandbox.close())
  print(welcome(sandbox, tokens))
}

/** Returns a request as one line, without its headers, query and body, which can hold secrets. */
function logLine({ at, method, path, status, actor, scope, fault }: RecordedRequest): string {
  const time = new Date(at).toTimeString().slice(0, 8)
  const columns = [time, status ?? '---', method.padEnd(6), path, actor, scope, fault && `[${fault}]`]
  return `${printable(columns.filter((column) => column !== undefined).join('  '))}\n`
}

/** Escapes control and formatting characters, which could change what the terminal shows. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`
  })
}

function print(text: string): void {
  process.stdout.write(text)
}

function welcome({ app, url }: Sandbox, tokens: { self: string; app: string }): string {
  return `The sandbox is listening on ${url}

  console            ${url}/
  client id          ${app.clientId}
  client secret      ${app.clientSecret}
  redirect URIs      ${app.redirectUris.join('\n                     ')}
  token, actor=app   ${tokens.app}
  token, actor=self  ${tokens.self}

Open the console in a browser, or try:

  curl -H 'Authorization: Bearer ${tokens.app}' '${url}/api/oauth/v1/conversations?limit=2'

Press Ctrl+C to stop.
`
}
