/** People and days that all worlds share. */

/** Different names, of which none is the start of another. */
export const PEOPLE = [
  "Ada Lindqvist",
  "Bram Oduya",
  "Carla Moretti",
  "Dmitri Halonen",
  "Elin Sørensen",
  "Farid Haddad",
  "Greta Vogel",
  "Hugo Marchand",
  "Ines Caldeira",
  "Jonas Weber",
  "Keiko Tanabe",
  "Liam Brennan",
  "Mara Kovač",
  "Nils Aaltonen",
  "Olga Petrova",
  "Pablo Reyes",
  "Quinn Abbott",
  "Rosa Delgado",
  "Selma Yıldız",
  "Tomas Novák",
  "Una Fitzgerald",
  "Viktor Balogh",
  "Wanda Zieliński",
  "Xavier Dupont",
  "Yara Nasser",
  "Zoran Ilić",
  "Amara Okafor",
  "Bea Thornton",
  "Cyril Lambert",
  "Dora Szabó",
  "Edgar Blom",
  "Freya Nyberg",
  "Gianni Conti",
  "Hana Suzuki",
  "Ivo Dragan",
  "Jutta Kern",
];

const DAY_MS = 86_400_000;

/** The day so many days later, as `YYYY-MM-DD`. */
export function dayAfter(day: string, days: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(Date.UTC(year, month - 1, date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** A business date of a year that is no one's today. */
export function drawToday(pick: { integer(min: number, max: number): number }): string {
  return dayAfter("2024-02-01", pick.integer(0, 300));
}
