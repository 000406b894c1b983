import { checkBrand, type Brand } from '../http/files/brand.ts'
import { environment, resolveMail, type EnvironmentVariables } from './config.ts'

export function resolveBrand(env: EnvironmentVariables = environment()): Brand {
  return checkBrand({
    name: env.ERRAND_SERVICE_NAME ?? '',
    mailName: resolveMail(env)?.from.name ?? '',
    support: env.ERRAND_SUPPORT ?? '',
    seller: env.ERRAND_SELLER ?? '',
    logo: env.ERRAND_LOGO ?? '',
    darkLogo: env.ERRAND_LOGO_DARK ?? '',
  })
}
