using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Walks the records of a segment in the order in which they were written, dead ones and fillers
/// too.</summary>
/// <remarks>A segment that is written to meanwhile is walked to where it ended when the walk began.</remarks>
internal unsafe struct LogScanner
{
    private readonly byte* _end;
    private byte* _next;

    public LogScanner(SegmentedLog log, int segment)
    {
        _next = log.Start(segment);
        _end = _next + Volatile.Read(ref log.Info(segment)->Tail);      // acquire: the words below it are written
    }

    public bool Next(out byte* record, out ulong word)
    {
        record = _next;
        if (_next >= _end)
        {
            word = 0;
            return false;
        }

        word = Record.ReadWord(record);
        _next += RecordWord.Size(word);
        Debug.Assert(_next <= _end, "a record ends within what was written");
        return true;
    }
}
