import { chmod, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { resolveDataDir, resolvePayloadBucket } from '../../app/config.ts'
import { codeOf } from '../../kernel/thrown.ts'
import { print, withStore } from '../open-store.ts'
import { copyPayloads, syncPath, type Lacking } from './backup-payloads.ts'

type Common = { data?: string; json?: boolean }

/**
 * Writes temporary files and renames them at the end, the database last. A file with the requested name is therefore
 * always complete, and a failed backup leaves no files behind. If only some payloads are missing or damaged, keeps the
 * backup without them.
 */
export async function backup(file: string, options: Common): Promise<void> {
  const names = { file, payloads: `${file}.payloads` }
  const drafts = { file: `${file}.${process.pid}.partial`, payloads: `${file}.payloads.${process.pid}.partial` }
  for (const name of Object.values(names)) {
    if (await stat(name).catch(() => undefined))
      throw new Error(`${name} already exists. Choose another name for the backup.`)
  }
  const folder = dirname(resolve(file))
  if (!(await stat(folder).catch(() => undefined))?.isDirectory()) {
    throw new Error(`The folder ${folder} for the backup does not exist. Create it first.`)
  }
  const bucket = resolvePayloadBucket()?.bucket
  const left = { ...drafts }
  let result: Awaited<ReturnType<typeof copyPayloads>>
  try {
    result = await withStore(options, async (store) => {
      await store.backup(drafts.file)
      await chmod(drafts.file, 0o600)
      await syncPath(drafts.file)
      if (bucket) return { bad: [], deleted: [], copied: 0 }
      const from = join(resolveDataDir(options.data), 'payloads')
      return await copyPayloads(store, { database: drafts.file, from, to: drafts.payloads })
    })
    if (result.copied > 0) {
      await rename(drafts.payloads, names.payloads)
      left.payloads = names.payloads
    }
    await rename(drafts.file, names.file)
    left.file = names.file
    await syncPath(folder)
  } catch (error) {
    for (const path of Object.values(left)) await rm(path, { recursive: true, force: true }).catch(() => {})
    throw ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'].includes(codeOf(error))
      ? new Error(`There is not enough disk space for the backup in ${folder}. Free up space or choose another folder.`)
      : error
  }
  const { bad, copied, deleted } = result
  report(options, { ...names, bad, deleted, bucket, hasPayloads: copied > 0 })
}

type Written = Lacking & { file: string; payloads: string; bucket: string | undefined; hasPayloads: boolean }

function report(options: Common, { bad, bucket, deleted, file, hasPayloads, payloads }: Written): void {
  const uncopied =
    bucket === undefined
      ? ''
      : ` This command does not copy the payloads in the bucket "${bucket}". Back up the bucket separately.`
  const left =
    deleted.length === 0 ? '' : ` It does not contain payloads deleted during the backup: ${deleted.join(', ')}.`
  print(
    options,
    {
      file,
      payloads: hasPayloads ? payloads : null,
      ...(bad.length > 0 && { badPayloads: bad }),
      ...(deleted.length > 0 && { deletedPayloads: deleted }),
      ...(bucket !== undefined && { uncopiedBucket: bucket }),
    },
    (hasPayloads ? `Wrote ${file} and ${payloads}.` : `Wrote ${file}.`) + uncopied + left,
  )
  if (bad.length === 0) return
  // An incomplete backup is better than none, so keep it. Exit with an error, so that a nightly job reports it.
  throw new Error(
    `Some payloads are missing or damaged and are not in the backup: ${bad.join(', ')}. Restore them from an earlier backup.`,
  )
}
