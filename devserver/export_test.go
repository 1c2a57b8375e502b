package devserver

// GuardKey lets a test take a server's place on a PostgreSQL database.
const GuardKey = guardKey
