/**
 * What the simulated time knows of Node that Node does not document: the names of its asynchronous resources, a field of three of them,
 * and the list of active handles. Without it nobody can tell a job that waits for a timer from one that waits for a file, and a
 * fault test would take as long as the waits. `node-internals.test.ts` asks the running Node for each of them, so a new major
 * that changes one says which.
 */
import { Socket } from 'node:net'

/** Resources that stay open. Node shows only when they were last used. */
const connections = /^(TCPWRAP|TLSWRAP|PIPEWRAP|UDPWRAP|MESSAGEPORT|HTTPCLIENTREQUEST)$/
/** Resources that end with a callback, such as reading a file. Compression has a callback for each part. */
const operations =
  /^(Immediate|PROCESSWRAP|WORKER|ZLIB)$|(REQCALLBACK|REQPROMISE|REQWRAP|REQUEST|CONNECTWRAP|QUERYWRAP|SENDWRAP|WRITEWRAP|SHUTDOWNWRAP|CLOSEREQ)$/
const otherProcesses = /^(PROCESSWRAP|WORKER)$/

/** Returns what a kind of resource means for the time. Other kinds, such as timers and promises, mean nothing. */
export function kindOf(type: string): 'connection' | 'operation' | undefined {
  if (connections.test(type)) return 'connection'
  return operations.test(type) ? 'operation' : undefined
}

/** Whether a resource is another process or thread. */
export function isOtherProcess(type: string): boolean {
  return otherProcesses.test(type)
}

/** Whether callbacks of a resource can follow each other, so that one is not its end. */
export function hasManyCallbacks(type: string): boolean {
  return type === 'ZLIB'
}

/**
 * Whether an operation is still pending. A field of the resource tells, because Node calls no callback for a cleared
 * immediate, for cryptography that ended at once, and for idle compression.
 */
export function isPending(type: string, resource: object): boolean {
  if (type === 'Immediate') return typeof Reflect.get(resource, '_onImmediate') === 'function'
  if (type === 'ZLIB') return Boolean(Reflect.get(resource, 'buffer'))
  return !type.endsWith('REQUEST') || Reflect.has(resource, 'ondone')
}

/** Returns the sockets of this process that are in use. A client's idle keep-alive connection is not among them. */
export function activeSockets(): readonly Socket[] {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): unknown[] }
  return handles.call(process).filter((handle) => handle instanceof Socket)
}
