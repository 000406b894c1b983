import { brand, iconUrl } from '../app/read-brand.ts'
import { basePath } from '../app/service-url.ts'
import classes from './brand-logo.module.css'

/** The operator's logo, or the icon of the service. `alt` is the name, unless the name is next to the logo. */
export function BrandLogo({ alt, height }: { alt: string; height: number }) {
  const { darkLogo } = brand
  return (
    <>
      <img src={iconUrl} alt={alt} height={height} className={darkLogo ? classes.light : classes.logo} />
      {darkLogo && <img src={basePath + darkLogo} alt={alt} height={height} className={classes.dark} />}
    </>
  )
}
