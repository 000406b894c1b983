import { useEffect } from 'react'
import { brand } from '../../app/read-brand.ts'

export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${brand.name}`
  }, [title])
}
