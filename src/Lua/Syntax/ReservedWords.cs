using System.Diagnostics;

namespace Kv.Lua.Syntax;

/// <summary>The words of the language that cannot be names.</summary>
internal static class ReservedWords
{
    private const int LengthMax = 8;

    // By the first letter: at most four words begin with the same.
    private static readonly (byte[] Word, TokenKind Kind)[]?[] s_byLetter = Make();

    /// <summary>The kind of a word; null: it is a name.</summary>
    public static TokenKind? Find(ReadOnlySpan<byte> word)
    {
        Debug.Assert(!word.IsEmpty, "a name has a letter");
        int letter = word[0] - 'a';
        if (word.Length > LengthMax || (uint)letter >= 26 || s_byLetter[letter] is not { } words) return null;
        foreach (var (known, kind) in words)
            if (word.SequenceEqual(known)) return kind;
        return null;
    }

    private static (byte[] Word, TokenKind Kind)[]?[] Make()
    {
        var made = new (byte[] Word, TokenKind Kind)[]?[26];
        for (var kind = TokenKind.And; kind <= TokenKind.While; kind++)
        {
            byte[] word = System.Text.Encoding.ASCII.GetBytes(kind.ToString().ToLowerInvariant());
            Debug.Assert(word.Length <= LengthMax, "the longest word is known");
            made[word[0] - 'a'] = [.. made[word[0] - 'a'] ?? [], (word, kind)];
        }

        return made;
    }
}
