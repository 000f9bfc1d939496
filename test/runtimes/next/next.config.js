import { fileURLToPath } from 'node:url'

/** @type {import('next').NextConfig} */
export default {
  // The nearest folder with the dependencies.
  turbopack: { root: fileURLToPath(new URL('..', import.meta.url)) },
}
