/** Whether the proofs run whole, as `npm run proofs` does. The gate runs them in their short form. */
export const isFull = process.env.PROOFS === 'full'
