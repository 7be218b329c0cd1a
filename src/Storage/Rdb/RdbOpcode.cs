namespace Kv.Storage;

//   | REDIS 5 | version, 4 digits |  aux ...  libraries ...  databases ...  | 255 | CRC-64 of all before 8, or 0 |
//
//   aux        250 | string name | string value
//   library    245 | string text
//   database   254 | length number |  251 | length keys | length keys that expire |  keys ...
//   key        [ 252 | unix ms 8 ]  [ 248 | length seconds idle ]  [ 249 | frequency 1 ]   type 1 | string key | value

/// <summary>What stands in an RDB file where a key's type might: greater than any of those.</summary>
/// <remarks>Source: the RDB format of Redis 1 to 7.4.</remarks>
internal enum RdbOpcode : byte
{
    /// <summary>Three lengths, of a cluster's slot.</summary>
    Slot = 244,
    Library = 245,

    /// <summary>A library as release candidates of 7.0 wrote it.</summary>
    OldLibrary = 246,
    ModuleAux = 247,
    Idle = 248,
    Frequency = 249,
    Aux = 250,
    Sizes = 251,
    ExpiryMs = 252,
    ExpirySeconds = 253,
    Database = 254,
    End = 255,
}
