/** The version of this package, for the `User-Agent` header. A test holds it equal to package.json. */
export const version = '0.1.0'
