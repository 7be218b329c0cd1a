using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>The string that a value is, or that a field of it holds. Digits of an integer go where there is room for
/// them.</summary>
internal static class SortValue
{
    /// <returns>False: no such field.</returns>
    public static bool TryGet(in ValueView value, ReadOnlySpan<byte> field, bool hasField, StoreSession session,
        Span<byte> digits, out ReadOnlySpan<byte> text)
    {
        if (hasField) return new HashView(value, in session.MemberHash, session.NowMs).TryGet(field, out text);
        if (value.Kind == ValueKind.Integer) text = digits[..NumberText.FormatInt64(value.Integer, digits)];
        else text = value.Bytes;
        return true;
    }
}

/// <summary>Reads a number to sort by.</summary>
internal ref struct ReadSortScore : IValueRead
{
    private readonly ReadOnlySpan<byte> _field;
    private readonly bool _hasField;
    private readonly StoreSession _session;

    public ReadSortScore(in SortPattern pattern, StoreSession session)
    {
        _field = pattern.Field;
        _hasField = pattern.HasField;
        _session = session;
    }

    public double Score;

    /// <summary>Whether what there was is no number.</summary>
    public bool IsWrong;

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        Score = 0;
        IsWrong = SortValue.TryGet(value, _field, _hasField, _session, stackalloc byte[NumberText.MaxInt64Bytes],
            out var text) && !TryParse(text, out Score);
    }

    /// <summary>A number as C's strtod takes it: up to a NUL, with space ahead; nothing at all is 0.</summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out double score)
    {
        if (NumberText.TryParseInt64(text, out long number))
        {
            score = number;
            return true;
        }

        int nul = text.IndexOf((byte)0);
        if (nul >= 0) text = text[..nul];
        score = 0;
        return text.IsEmpty || NumberText.TryParseDouble(text.TrimStart(" \t\n\v\f\r"u8), out score);
    }
}

/// <summary>Copies a text behind others; none when there is no such field.</summary>
internal ref struct ReadSortText : IValueRead
{
    private readonly ReadOnlySpan<byte> _field;
    private readonly bool _hasField;
    private readonly StoreSession _session;
    private readonly SortTexts _texts;

    public ReadSortText(in SortPattern pattern, SortTexts texts, StoreSession session)
    {
        _field = pattern.Field;
        _hasField = pattern.HasField;
        _texts = texts;
        _session = session;
    }

    /// <summary>Whether a text was added.</summary>
    public bool IsAdded { get; private set; }

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        Forget();
        if (!SortValue.TryGet(value, _field, _hasField, _session, stackalloc byte[NumberText.MaxInt64Bytes],
            out var text)) return;
        _texts.Add(text);
        IsAdded = true;
    }

    /// <summary>Takes back what turned out to be void.</summary>
    public void Forget()
    {
        if (IsAdded) _texts.RemoveLast();
        IsAdded = false;
    }
}

/// <summary>Writes the value of a field into a reply; nil when there is no such field.</summary>
internal ref struct ReplySortField : IValueRead
{
    private readonly ReplyWriter _reply;
    private readonly ReplyMark _mark;
    private readonly ReadOnlySpan<byte> _field;
    private readonly StoreSession _session;
    private bool _isWritten;

    public ReplySortField(in SortPattern pattern, ReplyWriter reply, StoreSession session)
    {
        _field = pattern.Field;
        _reply = reply;
        _mark = reply.Mark();
        _session = session;
    }

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        Forget();
        _isWritten = true;
        if (new HashView(value, in _session.MemberHash, _session.NowMs).TryGet(_field, out var text))
            _reply.WriteBulk(text);
        else _reply.WriteNull();
    }

    /// <summary>Takes back what turned out to be void.</summary>
    public void Forget()
    {
        if (_isWritten) _reply.Rewind(_mark);
        _isWritten = false;
    }
}
