namespace Kv.Lua.Libraries.Json;

/// <summary>The words of JSON.</summary>
internal enum JsonToken
{
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String,
    Number,
    Boolean,
    Null,
    Colon,
    Comma,
    End,

    /// <summary>None of them: the lexer says why.</summary>
    Error,

    /// <summary>The budget was used up before the word's end: ask again.</summary>
    Unfinished,
}
