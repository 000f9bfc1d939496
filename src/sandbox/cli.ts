#!/usr/bin/env node
import process from 'node:process'
import { help, readArguments, UsageError } from './command-line.ts'
import { type Sandbox, startSandbox } from './start-sandbox.ts'

await main()

async function main(): Promise<void> {
  try {
    const options = readArguments(process.argv.slice(2))
    if (options === 'help') {
      process.stdout.write(help)
      return
    }
    const sandbox = await startSandbox(options)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void sandbox.close())
    process.stdout.write(welcome(sandbox))
  } catch (error) {
    // A `TypeError` reports an invalid option. Any other error means that the server could not listen.
    const usage = error instanceof UsageError || error instanceof TypeError
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = usage ? 2 : 1
  }
}

function welcome(sandbox: Sandbox): string {
  const { app, url } = sandbox
  const appToken = sandbox.issueToken()
  const selfToken = sandbox.issueToken({ actor: 'self' })
  return `The sandbox is listening on ${url}

  client id          ${app.clientId}
  client secret      ${app.clientSecret}
  redirect URIs      ${app.redirectUris.join('\n                     ')}
  token, actor=app   ${appToken}
  token, actor=self  ${selfToken}

Try it:

  curl -H 'Authorization: Bearer ${appToken}' '${url}/api/oauth/v1/conversations?limit=2'

Press Ctrl+C to stop.
`
}
