//! The parts of a program's machine code that the rule about stores needs: every instruction that writes memory, its
//! width, and the source functions that it comes from, inlined ones first. This file judges nothing.

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use anyhow::{Context as _, Result, ensure};
use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolKind};
use std::collections::HashMap;
use std::fmt;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Routines of the C library that write in any width.
const ROUTINES: [&str; 3] = ["memcpy", "memmove", "memset"];

/// How memory is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Width {
    /// This number of bytes, by one instruction.
    Bytes(usize),
    /// A number of bytes from a register, by one instruction.
    Repeated,
    /// By a routine of the C library.
    Routine(&'static str),
}

/// A function of the source.
#[derive(Clone, Debug)]
pub struct Frame {
    pub function: String,
    pub file: String,
    pub line: u32,
}

/// An instruction that writes memory outside its own stack frame.
#[derive(Clone, Debug)]
pub struct Store {
    pub width: Width,
    /// The function of the machine code.
    pub within: String,
    /// The source functions, the innermost first.
    pub frames: Vec<Frame>,
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {}", self.width, self.within)?;
        self.frames.iter().try_for_each(|it| write!(f, "\n    {} at {}:{}", it.function, it.file, it.line))
    }
}

/// A parsed executable.
pub struct Program<'a> {
    file: object::File<'a>,
    source: Context<Bytes<'a>>,
    /// Routines by the address of the cell that points to them, or by their own address.
    routines: HashMap<u64, &'static str>,
}

fn routine(name: &[u8]) -> Option<&'static str> {
    ROUTINES.into_iter().find(|routine| routine.as_bytes() == name)
}

impl<'a> Program<'a> {
    /// Reads an executable with line tables.
    ///
    /// # Errors
    /// The bytes are not an executable, or have no line tables.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let file = object::File::parse(bytes)?;
        let section = |id: SectionId| -> Result<Bytes<'a>> {
            let data = file.section_by_name(id.name()).map_or(Ok(&[][..]), |section| section.data())?;
            Ok(EndianSlice::new(data, LittleEndian))
        };
        ensure!(file.section_by_name(".debug_line").is_some(), "no line tables");
        let source = Context::from_dwarf(Dwarf::load(section)?)?;
        let symbols = file.dynamic_symbol_table().context("no dynamic symbols")?;
        let cells = file.dynamic_relocations().into_iter().flatten().filter_map(|(cell, relocation)| {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
            Some((cell, routine(symbols.symbol_by_index(symbol).ok()?.name_bytes().ok()?)?))
        });
        let own = file.symbols().filter_map(|it| Some((it.address(), routine(it.name_bytes().ok()?)?)));
        let routines = cells.chain(own.filter(|(address, _)| *address != 0)).collect();
        Ok(Program { file, source, routines })
    }

    /// Visits every store of every function.
    ///
    /// # Errors
    /// The code cannot be decoded.
    pub fn stores(&self, mut visitor: impl FnMut(Store)) -> Result<()> {
        let text = self.file.section_by_name(".text").context("no code")?;
        let (base, code) = (text.address(), text.data()?);
        let mut known = InstructionInfoFactory::new();
        for function in self.file.symbols().filter(|it| it.kind() == SymbolKind::Text && it.size() > 0) {
            let start = function.address().wrapping_sub(base) as usize;
            // Functions elsewhere belong to the C runtime.
            let Some(body) = code.get(start..start.saturating_add(function.size() as usize)) else { continue };
            let mut held = HashMap::new();
            for instruction in Decoder::with_ip(64, body, function.address(), DecoderOptions::NONE) {
                if let Some(width) = self.width(&instruction, &mut known, &mut held) {
                    visitor(self.store(width, function.name()?, instruction.ip())?);
                }
            }
        }
        Ok(())
    }

    fn store(&self, width: Width, within: &str, at: u64) -> Result<Store> {
        let mut found = self.source.find_frames(at).skip_all_loads()?;
        let mut frames = vec![];
        while let Some(frame) = found.next()? {
            let function = frame.function.map_or(Ok(String::new()), |it| it.raw_name().map(String::from))?;
            let (file, line) = frame.location.map_or(("", 0), |it| (it.file.unwrap_or(""), it.line.unwrap_or(0)));
            frames.push(Frame { function, file: file.into(), line });
        }
        Ok(Store { width, within: within.into(), frames })
    }

    /// Returns how an instruction writes memory, if it does. `held` has the routines that registers point to.
    fn width(
        &self,
        instruction: &Instruction,
        known: &mut InstructionInfoFactory,
        held: &mut HashMap<Register, &'static str>,
    ) -> Option<Width> {
        if let Some(routine) = self.called(instruction, held) {
            return Some(Width::Routine(routine));
        }
        let writes = [OpAccess::Write, OpAccess::ReadWrite, OpAccess::CondWrite, OpAccess::ReadCondWrite];
        let used = known.info(instruction).used_memory();
        let written = used.iter().filter(|it| writes.contains(&it.access()) && it.base() != Register::RSP);
        let written = written.map(|it| it.memory_size().size()).max()?;
        Some(if instruction.is_string_instruction() { Width::Repeated } else { Width::Bytes(written) })
    }

    /// Returns the routine that an instruction calls: directly, through a cell, or through a register that was loaded
    /// from a cell.
    fn called(&self, instruction: &Instruction, held: &mut HashMap<Register, &'static str>) -> Option<&'static str> {
        let cell = instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address());
        let through = cell.and_then(|cell| self.routines.get(&cell).copied());
        let leaves = instruction.is_call_near_indirect() || instruction.is_jmp_near_indirect();
        if leaves && instruction.op0_kind() == OpKind::Register {
            return held.get(&instruction.op0_register()).copied();
        }
        if !leaves && instruction.op0_kind() == OpKind::Register && cell.is_some() {
            held.remove(&instruction.op0_register());
            held.extend(through.map(|routine| (instruction.op0_register(), routine)));
        }
        match instruction.op0_kind() {
            OpKind::NearBranch64 => self.routines.get(&instruction.near_branch_target()).copied(),
            _ => through.filter(|_| leaves),
        }
    }
}
