using System.Diagnostics;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

//   weight_*          the element in the place of the first star: a string
//   object_*->name    behind the star: a field of a hash
//   #                 the element itself

/// <summary>Where SORT looks something up for an element: the pattern of BY or GET.</summary>
internal readonly unsafe struct SortPattern
{
    private readonly byte* _text;
    private readonly int _star, _suffixEnd, _end;

    /// <param name="argument">Stays put as long as this is used.</param>
    public SortPattern(Argument argument)
    {
        _text = argument.Pointer;
        _end = argument.Length;
        var text = argument.Span;
        _star = text.IndexOf((byte)'*');
        IsElement = text.SequenceEqual("#"u8);
        int arrow = _star < 0 ? -1 : text[(_star + 1)..].IndexOf("->"u8);
        _suffixEnd = arrow < 0 || _star + 1 + arrow + 2 == _end ? _end : _star + 1 + arrow;
    }

    /// <summary>Whether it depends on the element at all.</summary>
    public bool HasStar => _star >= 0;

    /// <summary>Whether it is the element itself.</summary>
    public bool IsElement { get; }

    /// <summary>Whether it names a field of a hash.</summary>
    public bool HasField => _suffixEnd != _end;

    /// <summary>The field.</summary>
    public ReadOnlySpan<byte> Field =>
        HasField ? new ReadOnlySpan<byte>(_text + _suffixEnd + 2, _end - _suffixEnd - 2) : default;

    /// <summary>Reads what there is for an element.</summary>
    /// <param name="name">Scratch, where the name of the key is put together.</param>
    /// <returns>Whether there is a string, or a hash; of a hash the read says whether it has the field.</returns>
    public bool TryRead<TRead>(StoreSession session, ref NameScratch name, ReadOnlySpan<byte> element, ref TRead read)
        where TRead : struct, IValueRead, allows ref struct
    {
        if (!HasStar) return false;
        int suffix = _suffixEnd - _star - 1;
        Debug.Assert(suffix >= 0 && _suffixEnd <= _end, "what follows the star lies in the pattern");
        Span<byte> key = name.Take(_star + element.Length + suffix);
        new ReadOnlySpan<byte>(_text, _star).CopyTo(key);
        element.CopyTo(key[_star..]);
        new ReadOnlySpan<byte>(_text + _star + 1, suffix).CopyTo(key[(_star + element.Length)..]);
        return session.Read(session.Key(key), HasField ? DataType.Hash : DataType.String, ref read) == StoreStatus.Ok;
    }
}
