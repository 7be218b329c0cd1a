namespace RespBenchmark.Engine;

//   "$8\r\nxxxxxxxx\r\n"   header  "$8\r\n", 4 bytes compared          length 14
//   "+OK\r\n"              header  the whole reply, 5 bytes compared   length 5
//   "$-1\r\n"              header  the whole reply                     length 5, nil

/// <summary>The last reply of a kind, so that an equal one costs one compare: its first bytes (up to 8) and its
/// length.</summary>
internal struct ReplyShape
{
    public const int HeaderBytesMax = 8;

    public ulong Header, Mask;

    /// <summary>0: there is none.</summary>
    public int Length;

    public bool IsNil;

    /// <summary>Learns a reply that a kind may give.</summary>
    public static ReplyShape Of(ReadOnlySpan<byte> line, long body, bool isNil)
    {
        if (line.Length > HeaderBytesMax || body > ReplyFramer.BodyOfShapeMax) return default;
        ulong header = 0;
        for (int index = 0; index < line.Length; index++) header |= (ulong)line[index] << (8 * index);
        return new ReplyShape
        {
            Header = header,
            Mask = line.Length == 8 ? ulong.MaxValue : (1UL << (8 * line.Length)) - 1,
            Length = line.Length + (body < 0 ? 0 : (int)body + 2),
            IsNil = isNil,
        };
    }
}
