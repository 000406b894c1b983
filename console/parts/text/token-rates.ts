type TokenRates = {
  inputPerMillionUsd: string
  cacheReadPerMillionUsd: string
  cacheWritePerMillionUsd: string
  cacheWrite1hPerMillionUsd: string
  outputPerMillionUsd: string
  reasoningPerMillionUsd: string
}

export function tokenRates(rates: TokenRates): [name: string, rate: string][] {
  return [
    ['Input', rates.inputPerMillionUsd],
    ['Cached input', rates.cacheReadPerMillionUsd],
    ['Cache writes', rates.cacheWritePerMillionUsd],
    ['Cache writes (1 hour)', rates.cacheWrite1hPerMillionUsd],
    ['Output', rates.outputPerMillionUsd],
    ['Reasoning', rates.reasoningPerMillionUsd],
  ]
}
