import { basePath } from './service-url.ts'

/** The operator's brand. The service writes it into the page. */
type Brand = {
  name: string
  /** Email address or https URL. */
  support?: string
  seller: string[]
  /** Paths of image files on the service. */
  logo?: string
  darkLogo?: string
}

const content = document.querySelector<HTMLMetaElement>('meta[name="brand"]')!.content

export const brand = JSON.parse(content) as Brand

export const iconUrl = `${basePath}${brand.logo ?? '/favicon.svg'}`

export const supportUrl =
  brand.support === undefined || brand.support.startsWith('https:') ? brand.support : `mailto:${brand.support}`

/** Lines with the seller's name, address and tax id. */
export const seller = brand.seller.length > 0 ? brand.seller : [location.host]
