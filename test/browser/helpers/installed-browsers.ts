import { existsSync } from 'node:fs'
import { type Browser, type BrowserType, chromium, firefox, type LaunchOptions } from 'playwright-core'
import { inject } from 'vitest'

interface InstalledBrowser {
  readonly type: BrowserType
  readonly path: string
  readonly variable: string
  readonly debianPackage: string
  readonly options: LaunchOptions
}

const browsers: Readonly<Record<'chromium' | 'firefox', InstalledBrowser>> = {
  chromium: {
    type: chromium,
    // Chromium without its windows takes two thirds of the time.
    path: '/usr/bin/chromium-headless-shell',
    variable: 'CHROMIUM_PATH',
    debianPackage: 'chromium-headless-shell',
    options: {
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
  firefox: {
    type: firefox,
    path: '/usr/bin/firefox-esr',
    variable: 'FIREFOX_PATH',
    debianPackage: 'firefox-esr',
    options: {
      // An unpatched Firefox, over WebDriver BiDi: see decision 19.
      channel: 'moz-firefox',
      firefoxUserPrefs: {
        // Prevents requests for /favicon.ico. Headless Chromium sends none either.
        'browser.chrome.site_icons': false,
      },
    },
  },
}

/** The browser of this test run. */
export const browserName = inject('browser')

export async function launchBrowser(): Promise<Browser> {
  const { type, path, variable, debianPackage, options } = browsers[browserName]
  const executablePath = process.env[variable] ?? path
  if (!existsSync(executablePath)) {
    throw new Error(`There is no browser at ${executablePath}. Install Debian's ${debianPackage}, or set ${variable}.`)
  }
  return type.launch({ ...options, executablePath })
}
