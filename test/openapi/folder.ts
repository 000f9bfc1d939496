import { fileURLToPath } from 'node:url'

/** This folder, whose packages resolve from it. */
export const folder = fileURLToPath(new URL('.', import.meta.url))
