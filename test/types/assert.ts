/** Does not compile unless the type is `true`. */
export type Expect<Truth extends true> = Truth

/** Whether two types are identical. Distinguishes `any` and `unknown`. */
export type Equal<A, B> =
  (<Probe>() => Probe extends A ? 1 : 2) extends <Probe>() => Probe extends B ? 1 : 2 ? true : false
