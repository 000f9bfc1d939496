import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Functions that one process calls in another. */
// biome-ignore lint/suspicious/noExplicitAny: the parameters of any function
type Commands = Record<string, (...values: any[]) => unknown>

/** The functions of another process. */
export type Remote<Functions extends Commands> = {
  readonly [Name in keyof Functions]: (
    ...values: Parameters<Functions[Name]>
  ) => Promise<Awaited<ReturnType<Functions[Name]>>>
}

interface Call {
  readonly id: number
  readonly name: string
  readonly values: readonly unknown[]
}

interface Result {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

/** Starts a process that serves functions, with an object of options. */
export function startRemote<Functions extends Commands>(file: string, options: object) {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child: ChildProcess = fork(path, [JSON.stringify(options)], { serialization: 'advanced' })
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  child.on('message', ({ id, value, error }: Result) => {
    const call = pending.get(id)
    pending.delete(id)
    if (error === undefined) call?.resolve(value)
    else call?.reject(new Error(error))
  })
  const ended = once(child, 'exit')
  const failed = ended.then(() => Promise.reject(new Error(`${file} has ended.`)))
  let calls = 0
  const call = (name: string, values: unknown[]) => {
    calls += 1
    const result = Promise.withResolvers<unknown>()
    pending.set(calls, result)
    child.send({ id: calls, name, values } satisfies Call)
    return Promise.race([result.promise, failed])
  }
  const remote = new Proxy({} as Remote<Functions>, {
    get:
      (_, name) =>
      (...values: unknown[]) =>
        call(String(name), values),
  })
  const close = async () => {
    child.kill()
    await ended
  }
  return { remote, failed, close }
}

/** Serves functions to the process that has started this one. Returns its options. */
export function serveRemote<Options>(createFunctions: (options: Options) => Promise<Commands>): void {
  const functions = createFunctions(JSON.parse(process.argv[2] ?? '{}'))
  process.on('message', async ({ id, name, values }: Call) => {
    try {
      const value = await (await functions)[name]?.(...values)
      process.send?.({ id, value } satisfies Result)
    } catch (error) {
      process.send?.({ id, error: String(error) } satisfies Result)
    }
  })
  process.once('disconnect', () => process.exit())
}
