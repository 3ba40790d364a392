/** `Object.entries` with the keys' own type; the one cast that TypeScript leaves us no way around. */
export function mapRecord<K extends string, V, R>(
  record: Readonly<Record<K, V>>,
  f: (value: V, key: K) => R,
): Record<K, R> {
  const entries = (Object.keys(record) as K[]).map((key) => [key, f(record[key], key)] as const);
  return Object.fromEntries(entries) as Record<K, R>;
}
