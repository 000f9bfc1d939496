// A process that lists many connections on files, with limited file descriptors.
import { createStorage } from 'unstorage'
import fsDriver from 'unstorage/drivers/fs'
import { ConnectionStore } from '../../../src/oauth.ts'

const storage = createStorage({ driver: fsDriver({ base: process.argv[2] ?? '' }) })
const store = new ConnectionStore({ baseUrl: 'https://service.example', storage })
const { connections, unreadable } = await store.list()
process.stdout.write(JSON.stringify({ listed: connections.length, unreadable: unreadable.length }))
